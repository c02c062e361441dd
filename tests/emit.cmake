# The emitter's planning is hidden in its library; those files know nothing of LLVM and are compiled into the test too.
file(GLOB emit_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/backend/emit/*.cpp)
set(emit_sources ${PROJECT_SOURCE_DIR}/backend/emit)
tessera_test(emit_test unit
             SOURCES ${emit_tests} ${emit_sources}/placement.cpp ${emit_sources}/slots.cpp ${emit_sources}/memory_plan.cpp
                     ${PROJECT_SOURCE_DIR}/backend/target.cpp ${PROJECT_SOURCE_DIR}/backend/ordered_map.cpp
             DEPENDS tessera_emit tessera_ir)
