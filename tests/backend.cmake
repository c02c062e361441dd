tessera_test(backend_test unit
             SOURCES backend/tiled_kernels.cpp backend/layouts_test.cpp backend/passes/place_test.cpp
                     backend/passes/mutation_test.cpp backend/passes/overlap_test.cpp backend/passes/passes_test.cpp
                     backend/passes/live_scalars_test.cpp backend/passes/skip_idle_rows_test.cpp backend/passes/split_sums_test.cpp
                     backend/passes/stage_stores_test.cpp
                     backend/passes/take_programs_test.cpp backend/passes/take_turns_test.cpp backend/placed_runs.cpp
             DEPENDS tessera_backend)
tessera_test(placed_test unit
             SOURCES backend/tiled_kernels.cpp backend/placed_runs.cpp backend/block_programs.cpp
                     gpu/patterns.cpp backend/passes/patterns_placed_test.cpp backend/passes/programs_placed_test.cpp
                     backend/passes/orders_placed_test.cpp
                     backend/op_programs.cpp backend/passes/ops_placed_test.cpp
             DEPENDS attention_case tessera_backend)
