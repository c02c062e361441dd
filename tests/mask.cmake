set(tests ${CMAKE_CURRENT_SOURCE_DIR})

add_library(tessera_test_predicates STATIC ${tests}/dsl/mask/catalogue.cpp ${tests}/dsl/mask/geometry_catalogue.cpp
            ${tests}/dsl/mask/maps.cpp ${tests}/dsl/mask/order_maps.cpp
            ${tests}/dsl/mask/order_plans.cpp ${tests}/dsl/mask/span_maps.cpp ${tests}/dsl/mask/workloads.cpp)
tessera_unity(tests tessera_test_predicates)
target_include_directories(tessera_test_predicates PUBLIC ${tests})
target_link_libraries(tessera_test_predicates PUBLIC tessera_mask PRIVATE tessera_options tessera_test_options)

file(GLOB mask_tests CONFIGURE_DEPENDS ${tests}/dsl/mask/*_test.cpp)
list(FILTER mask_tests EXCLUDE REGEX "/orders[a-z_]*_test.cpp$")
tessera_test(mask_test unit SOURCES ${mask_tests} DEPENDS tessera_mask tessera_test_predicates)
# Sweeps over whole catalogues of masks and orders, as the fuzz tests are: too long for sanitizers.
foreach(name orders orders_rank orders_spans)
  tessera_test(${name}_test fuzz SOURCES ${tests}/dsl/mask/${name}_test.cpp
    DEPENDS tessera_mask tessera_test_predicates)
endforeach()

file(GLOB tile_by_mask_tests CONFIGURE_DEPENDS ${tests}/dsl/passes/tile_by_mask*_test.cpp)
tessera_test(tile_by_mask_test unit SOURCES ${tile_by_mask_tests} DEPENDS tessera_passes tessera_test_predicates)
