# On a GPU; skipped with a reason where there is none.
tessera_test(gpu_forward gpu
             SOURCES support/gpu/main.cpp gpu/device_case.cpp gpu/pairwise.cpp gpu/patterns.cpp gpu/forward_test.cpp
             DEPENDS attention_case tessera_runtime)
tessera_test(gpu_contracts gpu
             SOURCES support/gpu/main.cpp gpu/device_case.cpp gpu/patterns.cpp gpu/contracts_test.cpp
             DEPENDS attention_case tessera_runtime)
tessera_test(gpu_merge gpu SOURCES support/gpu/main.cpp gpu/device_case.cpp gpu/merge_test.cpp
             DEPENDS attention_case tessera_runtime)
tessera_test(gpu_acsr gpu SOURCES support/gpu/main.cpp gpu/device_case.cpp gpu/acsr_test.cpp
             DEPENDS attention_case tessera_runtime)
tessera_test(gpu_programs gpu
             SOURCES support/gpu/main.cpp gpu/device_case.cpp gpu/programs_test.cpp gpu/ops_test.cpp
                     backend/block_programs.cpp backend/op_programs.cpp backend/placed_runs.cpp
             DEPENDS attention_case tessera_runtime)
tessera_test(gpu_orders gpu SOURCES support/gpu/main.cpp gpu/device_case.cpp gpu/orders_test.cpp
             DEPENDS attention_case tessera_runtime)
