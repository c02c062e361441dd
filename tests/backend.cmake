tessera_test(backend_test unit
             SOURCES backend/tiled_kernels.cpp backend/layouts_test.cpp backend/passes/place_test.cpp
             DEPENDS tessera_backend)
