"""The peers' masks against masks.json, pair by pair, without PyTorch."""
import json
import pathlib
import unittest

from masks import mask_mod


class Masks(unittest.TestCase):
    def test_every_kind(self):
        cases = json.loads((pathlib.Path(__file__).parent / "masks.json").read_text())
        for case in cases:
            allows = mask_mod(case["mask"], list) or (lambda b, h, q, k: True)
            n = len(case["rows"])
            rows = ["".join("1" if allows(0, 0, q, k) else "0" for k in range(n)) for q in range(n)]
            self.assertEqual(rows, case["rows"], case["mask"])
        self.assertGreater(len(cases), 10)

    def test_a_kind_that_nobody_knows(self):
        with self.assertRaisesRegex(KeyError, "no peer knows masks of kind 'spiral'"):
            mask_mod({"kind": "spiral"}, list)


if __name__ == "__main__":
    unittest.main()
