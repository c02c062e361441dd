find_package(nlohmann_json REQUIRED)
file(GLOB library_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/*_test.cpp)
list(FILTER library_tests EXCLUDE REGEX "cli_.*test|attention_.*_test")
file(GLOB attention_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/attention_*_test.cpp)

add_library(attention_case STATIC ${CMAKE_CURRENT_SOURCE_DIR}/library/attention_case.cpp
            ${CMAKE_CURRENT_SOURCE_DIR}/library/order_cases.cpp)
target_link_libraries(attention_case PUBLIC tessera_test_support tessera_test_predicates tessera_library
                      PRIVATE tessera_options tessera_test_options)
tessera_unity(tests attention_case)

tessera_test(library unit SOURCES ${library_tests} DEPENDS attention_case nlohmann_json::nlohmann_json)
foreach(number 1 2)
  add_library(without_id_${number} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/library/build_id/unidentified.cpp)
  target_compile_definitions(without_id_${number} PRIVATE TESSERA_TEST_NUMBER=${number})
  target_link_options(without_id_${number} PRIVATE -Wl,--build-id=none)
  add_dependencies(library without_id_${number})
  target_compile_definitions(library PRIVATE TESSERA_LIBRARY_WITHOUT_ID_${number}="$<TARGET_FILE:without_id_${number}>")
endforeach()
# On the stand-in driver: what a launch asks of it, and what is kept between launches.
file(GLOB device_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/device/*_test.cpp)
tessera_test(library_device unit SOURCES ${device_tests} DEPENDS tessera_library)
add_dependencies(library_device tessera_fake_driver)
set_property(TEST library_device APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=$<TARGET_FILE:tessera_fake_driver>
             TESSERA_PTXAS=none)

# Several threads on one Attention, with an assembler that waits for the test.
file(GLOB thread_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/concurrency/*_test.cpp)
tessera_test(library_threads unit SOURCES ${thread_tests} DEPENDS tessera_library)
add_dependencies(library_threads tessera_fake_driver)
set_property(TEST library_threads APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=$<TARGET_FILE:tessera_fake_driver>
             TESSERA_PTXAS=${CMAKE_CURRENT_SOURCE_DIR}/library/concurrency/gated_ptxas.sh)

# What the assembler says about every kernel.
tessera_test(library_kernels unit SOURCES support/assembler/main.cpp library/kernels/kernels_test.cpp DEPENDS tessera_library)
set_property(TEST library_kernels APPEND PROPERTY PROCESSORS 2)

tessera_test(attention unit SOURCES ${attention_tests} DEPENDS attention_case)

# Every pattern against its formula.
file(GLOB catalogue_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/catalogue/*.cpp)
tessera_test(catalogue unit SOURCES ${catalogue_tests} DEPENDS attention_case tessera_test_predicates)

# One progression a row: the format, and attention over it in three programs.
file(GLOB acsr_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/acsr/*.cpp)
file(GLOB catalogue_cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/catalogue/*_cases.cpp)
tessera_test(acsr unit SOURCES ${acsr_tests} ${catalogue_cases} DEPENDS attention_case)

# Masks as pictures, which the test reads back.
find_package(ZLIB REQUIRED)
tessera_test(draw unit SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/library/draw/draw_test.cpp
             DEPENDS tessera_draw tessera_library ZLIB::ZLIB)

file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/cli_*.cpp)
tessera_test(cli unit SOURCES ${cli_tests} DEPENDS tessera_commands nlohmann_json::nlohmann_json)
target_compile_definitions(cli PRIVATE TESSERA_COMMAND="$<TARGET_FILE:tessera_cli>")
add_dependencies(cli tessera_cli)
