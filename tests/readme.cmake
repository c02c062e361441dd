# What README.md says is true: its programs run, its excerpts are excerpts, its commands work.
if(TESSERA_SANITIZE OR NOT TARGET tessera_cli)
  return()
endif()
add_test(NAME readme_programs
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/programs.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER}
                 ${CMAKE_CURRENT_BINARY_DIR}/install/prefix ${CMAKE_INSTALL_LIBDIR} ${CMAKE_CURRENT_BINARY_DIR}/readme)
add_test(NAME readme_lessons
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/lessons.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER}
                 ${CMAKE_CURRENT_BINARY_DIR}/install/prefix ${CMAKE_INSTALL_LIBDIR} ${CMAKE_CURRENT_BINARY_DIR}/readme_lessons)
set_tests_properties(readme_lessons PROPERTIES PROCESSORS 2)
add_executable(readme_cpu_time readme/cpu_time.cpp)
target_link_libraries(readme_cpu_time PRIVATE tessera_library tessera_options)
add_test(NAME readme_cpu_time COMMAND readme_cpu_time)
add_test(NAME readme_commands
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/commands.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE_DIR:tessera_cli>)
add_test(NAME readme_install
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/install.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
                 ${CMAKE_CURRENT_BINARY_DIR}/readme_install)
add_test(NAME readme_variables COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/variables.sh ${PROJECT_SOURCE_DIR})
add_test(NAME known_faults COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/known_faults.sh ${CMAKE_CURRENT_SOURCE_DIR})
add_test(NAME known_faults_refuses COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/readme/known_faults_refuses.sh ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(readme_programs readme_lessons PROPERTIES FIXTURES_REQUIRED installation)
set_tests_properties(readme_programs readme_lessons readme_cpu_time readme_commands readme_install readme_variables known_faults known_faults_refuses PROPERTIES LABELS readme)
