find_package(nlohmann_json REQUIRED)
file(GLOB library_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/*_test.cpp)
list(FILTER library_tests EXCLUDE REGEX "cli_test|attention_.*_test")
file(GLOB attention_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/attention_*_test.cpp)

add_library(attention_case STATIC ${CMAKE_CURRENT_SOURCE_DIR}/library/attention_case.cpp)
target_link_libraries(attention_case PUBLIC tessera_test_support tessera_library PRIVATE tessera_options)

tessera_test(library unit SOURCES ${library_tests} DEPENDS attention_case nlohmann_json::nlohmann_json)
tessera_test(attention unit SOURCES ${attention_tests} DEPENDS attention_case)

tessera_test(cli unit SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/library/cli_test.cpp DEPENDS tessera_library nlohmann_json::nlohmann_json)
target_compile_definitions(cli PRIVATE TESSERA_COMMAND="$<TARGET_FILE:tessera_cli>")
add_dependencies(cli tessera_cli)
