"""samples/kernels.ipynb: its cells run, and print what it shows."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Notebook(unittest.TestCase):
    def test_outputs(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("numpy is not installed")
        done = subprocess.run([sys.executable, os.path.join(HERE, "..", "notebook.py"),
                               os.path.join(HERE, "..", "..", "samples", "kernels.ipynb")], text=True, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
