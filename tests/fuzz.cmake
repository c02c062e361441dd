tessera_test(masks_fuzz fuzz
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/masks_fuzz.cpp ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/random_masks.cpp
  DEPENDS tessera_passes tessera_test_predicates)
