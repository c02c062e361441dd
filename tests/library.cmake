find_package(nlohmann_json REQUIRED)
file(GLOB library_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/*_test.cpp)
list(FILTER library_tests EXCLUDE REGEX "cli_test|attention_.*_test")
file(GLOB attention_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/attention_*_test.cpp)

add_library(attention_case STATIC ${CMAKE_CURRENT_SOURCE_DIR}/library/attention_case.cpp)
target_link_libraries(attention_case PUBLIC tessera_test_support tessera_library PRIVATE tessera_options)

tessera_test(library unit SOURCES ${library_tests} DEPENDS attention_case nlohmann_json::nlohmann_json)
# On the stand-in driver: what a launch asks of it, and what is kept between launches.
file(GLOB device_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/library/device/*_test.cpp)
tessera_test(library_device unit SOURCES ${device_tests} DEPENDS tessera_library)
add_dependencies(library_device tessera_fake_driver)
set_property(TEST library_device APPEND PROPERTY ENVIRONMENT TESSERA_CUDA_DRIVER=$<TARGET_FILE:tessera_fake_driver>
             TESSERA_PTXAS=none)

# What the assembler says about every kernel.
tessera_test(library_kernels unit SOURCES support/assembler/main.cpp library/kernels/kernels_test.cpp DEPENDS tessera_library)
set_property(TEST library_kernels APPEND PROPERTY PROCESSORS 2)

tessera_test(attention unit SOURCES ${attention_tests} DEPENDS attention_case)

tessera_test(cli unit SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/library/cli_test.cpp DEPENDS tessera_library nlohmann_json::nlohmann_json)
target_compile_definitions(cli PRIVATE TESSERA_COMMAND="$<TARGET_FILE:tessera_cli>")
add_dependencies(cli tessera_cli)
