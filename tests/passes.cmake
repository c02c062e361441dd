tessera_test(simplify_test unit
  SOURCES dsl/passes/simplify_test.cpp dsl/passes/simplify_values_test.cpp
  DEPENDS tessera_passes)
