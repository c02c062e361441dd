# Refusals by their text and line. Those of the language link the language only, so that they build without LLVM.
file(GLOB lang_error_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/errors/lang_*_test.cpp)
tessera_test(lang_errors errors SOURCES ${lang_error_tests} DEPENDS tessera_lang)

file(GLOB error_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/errors/*_test.cpp)
list(REMOVE_ITEM error_tests ${lang_error_tests})
if(error_tests)
  tessera_test(errors errors SOURCES ${error_tests} DEPENDS tessera_bench tessera_test_predicates)
endif()

# Machines that refuse, each in a process of its own: refusals_test(SUITE DRIVER ASSEMBLER).
set(device_errors ${CMAKE_CURRENT_SOURCE_DIR}/errors/device)
add_executable(device_errors ${device_errors}/refusals_test.cpp)
target_link_libraries(device_errors PRIVATE tessera_test_support tessera_library tessera_options tessera_test_options)
add_dependencies(device_errors tessera_fake_driver)
function(refusals_test suite driver assembler)
  add_test(NAME errors_${suite} COMMAND device_errors --no-skip --test-suite=${suite})
  set_tests_properties(errors_${suite} PROPERTIES LABELS errors FAIL_REGULAR_EXPRESSION "test cases: +0 " ENVIRONMENT
                       "TESSERA_CUDA_DRIVER=${driver};TESSERA_PTXAS=${assembler};TESSERA_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/errors/${suite}")
endfunction()
set(fake_driver $<TARGET_FILE:tessera_fake_driver>)
refusals_test(good ${fake_driver} none)
refusals_test(no_driver /nowhere/libcuda.so none)
refusals_test(no_device ${fake_driver} none)
refusals_test(old_device ${fake_driver} none)
refusals_test(bad_assembler ${fake_driver} ${device_errors}/bad_ptxas.sh)
refusals_test(no_assembler ${fake_driver} /nowhere/ptxas)
