# On a GPU; skipped with a reason where there is none.
add_library(tessera_gpu_support STATIC support/gpu/main.cpp gpu/device_case.cpp gpu/pairwise.cpp gpu/patterns.cpp)
target_link_libraries(tessera_gpu_support PUBLIC attention_case tessera_runtime PRIVATE tessera_options tessera_test_options)
tessera_unity(tests tessera_gpu_support)

tessera_test(gpu_forward gpu SOURCES gpu/forward_test.cpp DEPENDS tessera_gpu_support)
tessera_test(gpu_contracts gpu SOURCES gpu/contracts_test.cpp DEPENDS tessera_gpu_support)
tessera_test(gpu_schedules gpu SOURCES gpu/schedules_test.cpp DEPENDS tessera_gpu_support)
tessera_test(gpu_merge gpu SOURCES gpu/merge_test.cpp DEPENDS tessera_gpu_support)
tessera_test(gpu_acsr gpu SOURCES gpu/acsr_test.cpp DEPENDS tessera_gpu_support)
tessera_test(gpu_programs gpu
             SOURCES gpu/programs_test.cpp gpu/ops_test.cpp
                     backend/block_programs.cpp backend/op_programs.cpp backend/placed_runs.cpp
             DEPENDS tessera_gpu_support)
tessera_test(gpu_orders gpu SOURCES gpu/orders_test.cpp DEPENDS tessera_gpu_support)
tessera_test(runtime_gpu_test gpu
             SOURCES runtime/gpu/graph_test.cpp runtime/gpu/launch_test.cpp
                     runtime/gpu/memory_test.cpp runtime/gpu/tensor_map_test.cpp
             DEPENDS tessera_gpu_support)
