// A library without a build ID. Two of them differ in a number that no instruction holds.
#pragma GCC visibility push(default)
extern "C" {
int tessera_test_number = TESSERA_TEST_NUMBER;
int tessera_test_code() { return tessera_test_number; }
}
