tessera_test(ir_test unit
  SOURCES dsl/ir/types_test.cpp dsl/ir/layout_test.cpp dsl/ir/fold_test.cpp dsl/ir/builder_test.cpp dsl/ir/print_test.cpp
          dsl/ir/parse_test.cpp dsl/ir/verify_test.cpp dsl/ir/verify_stage_test.cpp dsl/ir/rewrite_test.cpp
          dsl/ir/work_order_test.cpp dsl/ir/order_test.cpp
  DEPENDS tessera_ir)
