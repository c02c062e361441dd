set(tests ${CMAKE_CURRENT_SOURCE_DIR})

add_library(tessera_test_predicates STATIC ${tests}/dsl/mask/catalogue.cpp ${tests}/dsl/mask/maps.cpp
            ${tests}/dsl/mask/order_plans.cpp)
target_include_directories(tessera_test_predicates PUBLIC ${tests})
target_link_libraries(tessera_test_predicates PUBLIC tessera_mask PRIVATE tessera_options)

file(GLOB mask_tests CONFIGURE_DEPENDS ${tests}/dsl/mask/*_test.cpp)
tessera_test(mask_test unit SOURCES ${mask_tests} DEPENDS tessera_mask tessera_test_predicates)

file(GLOB tile_by_mask_tests CONFIGURE_DEPENDS ${tests}/dsl/passes/tile_by_mask*_test.cpp)
tessera_test(tile_by_mask_test unit SOURCES ${tile_by_mask_tests} DEPENDS tessera_passes tessera_test_predicates)
