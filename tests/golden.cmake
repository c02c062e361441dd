# Texts of whole kernels. When a pass changes them on purpose:   ninja update_goldens, and read the difference
tessera_test(golden golden SOURCES golden/kernels_golden_test.cpp DEPENDS tessera_library)
add_custom_target(update_goldens
  COMMAND ${CMAKE_COMMAND} -E env UPDATE_GOLDEN=1 $<TARGET_FILE:golden>
  COMMAND ${CMAKE_COMMAND} -E env UPDATE_GOLDEN=1 $<TARGET_FILE:lang_test>
  COMMENT "Writing tests/golden" VERBATIM)
add_dependencies(update_goldens golden lang_test)
