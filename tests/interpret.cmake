tessera_test(interpret_test unit
  SOURCES dsl/ir/interpret_kernels.cpp dsl/ir/arguments_test.cpp dsl/ir/interpret_test.cpp dsl/ir/interpret_elementwise_test.cpp
          dsl/ir/interpret_memory_test.cpp dsl/ir/interpret_attention_test.cpp dsl/ir/interpret_placed_test.cpp
  DEPENDS tessera_ir)
