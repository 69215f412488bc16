"""The package as a user sees it. Needs the library and nothing installed; tests with NumPy are skipped without it."""
import array
import os
import shutil
import struct
import subprocess
import threading
import unittest

import nvmini

try:
    import numpy
except ImportError:
    numpy = None

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEAD = 'target triple = "nvptx64-nvidia-cuda"\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n'
WRONG = "define void @f() {\n  %a = add i32 1, %missing\n  %b = add i32 1, %gone\n  ret void\n}\n"


def sample(name):
    with open(os.path.join(ROOT, "samples", name), encoding="utf-8") as f:
        return f.read()


SAXPY = sample("saxpy.nvir")


def kernel(body, parameters="ptr %p"):
    return f"{HEAD}define ptx_kernel void @k({parameters}) {{\n{body}\n  ret void\n}}\n"


class Compile(unittest.TestCase):
    def test_text(self):
        ptx = nvmini.compile(SAXPY, cpu="sm_90a")
        self.assertIsInstance(ptx, nvmini.PTX)
        self.assertIn(".visible .entry saxpy(", ptx)
        self.assertEqual(ptx.diagnostics, ())

    def test_options(self):
        self.assertIn("sm_75", nvmini.compile(SAXPY, cpu="sm_75", ptx="7.5", opt=0))
        self.assertIn(".version 7.5", nvmini.compile(SAXPY, cpu="sm_75", ptx="7.5"))
        text = kernel("  %x = load float, ptr %p\n  %y = fadd float %x, 1.0\n  store float %y, ptr %p")
        self.assertIn("add.rn.ftz.f32", nvmini.compile(text, cpu="sm_90a", ftz=True))
        self.assertNotIn("ftz", nvmini.compile(text, cpu="sm_90a", ftz=False))
        whole = sample("sum.nvir")
        self.assertNotEqual(nvmini.compile(whole, cpu="sm_90a"), nvmini.compile(whole, cpu="sm_90a", knobs={"vectorize-loops": 0}))
        unused = kernel("  %a = add i32 1, 2")
        self.assertIn("add", nvmini.optimize(unused, cpu="sm_90a", passes="mem2reg"))
        self.assertNotIn("add", nvmini.optimize(unused, cpu="sm_90a", passes="dce"))

    def test_wrong_options(self):
        for options in ({"cpu": "sm_91"}, {"cpu": "sm_90a", "opt": 7}, {"cpu": "sm_90a", "nonsense": 1},
                        {"cpu": "sm_90a", "knobs": {"nonsense": 1}}):
            with self.assertRaises(nvmini.OptionError, msg=str(options)):
                nvmini.compile(SAXPY, **options)
        with self.assertRaisesRegex(ValueError, "did you mean 'sm_90'"):
            nvmini.compile(SAXPY, cpu="sm_91")

    def test_errors(self):
        with self.assertRaises(nvmini.InputError) as caught:
            nvmini.compile(WRONG, cpu="sm_90a", name="wrong.ll")
        error = caught.exception
        self.assertEqual((error.line, error.column), (2, 19))
        self.assertEqual([d.id for d in error.diagnostics], ["undefined-local"] * 2)
        self.assertIn("wrong.ll:2:19: error: use of undefined value '%missing'\n    %a = add i32 1, %missing\n", str(error))

    def test_warnings(self):
        text = kernel("  call void @__nv_nothing()") + "declare void @__nv_nothing()\n"
        ptx = nvmini.compile(text, cpu="sm_90a")
        self.assertEqual([(d.severity, d.id, d.line) for d in ptx.diagnostics], [("warning", "undefined-function", 4)])
        with self.assertRaises(nvmini.InputError):
            nvmini.compile(text, cpu="sm_90a", warnings="error")
        self.assertEqual(nvmini.compile(text, cpu="sm_90a", warnings=["no-undefined-function"]).diagnostics, ())

    def test_check_and_canonical(self):
        self.assertEqual(nvmini.check(SAXPY), ())
        with self.assertRaises(nvmini.InputError):
            nvmini.check(kernel("  %x = add i32 %x, 1"))
        ir = nvmini.canonical(SAXPY)
        self.assertIsInstance(ir, nvmini.IR)
        self.assertEqual(nvmini.canonical(ir), ir)

    def test_bitcode(self):
        assembler = next(filter(None, map(shutil.which, [f"llvm-as-{n}" for n in range(22, 14, -1)])), None)
        if assembler is None:
            self.skipTest("llvm-as-15 or later is not installed")
        data = subprocess.run([assembler, "-o", "-", "-"], input=SAXPY.encode(), stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(nvmini.compile(data, cpu="sm_90a"), nvmini.compile(SAXPY, cpu="sm_90a"))
        self.assertIn("@saxpy", nvmini.canonical(bytearray(data)))
        with self.assertRaises(nvmini.InputError):
            nvmini.check(data[:-100])

    def test_link(self):
        caller = kernel("  %x = call i32 @seven()\n  store i32 %x, ptr %p") + "declare i32 @seven()\n"
        library = HEAD + "define i32 @seven() {\n  ret i32 7\n}\n"
        data = array.array("i", [0])
        nvmini.run(caller, data, link=[library])
        self.assertEqual(data[0], 7)

    def test_remarks_and_plans(self):
        ir = nvmini.optimize(sample("sum.nvir"), cpu="sm_90a", remarks=True, plans=True)
        remark = next(r for r in ir.remarks if r.name == "Vectorized")
        self.assertEqual((remark.kind, remark.pass_name, remark.function), ("passed", "loop-vectorize", "sum"))
        self.assertIn("vectorized loop", remark.message)
        plan = ir.plans[0]
        self.assertEqual((plan.function, plan.loop, plan.refusal), ("sum", "loop", ""))
        self.assertGreater(plan.chosen.vf, 1)
        self.assertTrue(plan.initial.startswith("VPlan 'Initial VPlan for"))
        self.assertTrue(plan.final.endswith("}"))
        self.assertEqual(nvmini.optimize(SAXPY, cpu="sm_90a").plans, ())

    def test_memory_limit(self):
        with self.assertRaises(MemoryError):
            nvmini.compile(SAXPY, cpu="sm_90a", memory_limit=20000)

    def test_html(self):
        ptx = nvmini.compile(SAXPY, cpu="sm_90a")
        for text in (ptx, nvmini.canonical(SAXPY), nvmini.load(SAXPY)):
            shown = text._repr_html_()
            self.assertTrue(shown.startswith("<pre") and shown.endswith("</pre>"))
            self.assertNotIn("http", shown)
        self.assertIn("&lt;", nvmini.IR("a < b")._repr_html_())
        self.assertIn("600 more lines", nvmini.PTX("ret;\n" * 999)._repr_html_())

    def test_graphs(self):
        self.assertIn("digraph", nvmini.graphs(SAXPY))


class Run(unittest.TestCase):
    def test_both_forms(self):
        for execute in ("ptx", "ir"):
            x, y = array.array("f", range(8)), array.array("f", [1] * 8)
            result = nvmini.run(SAXPY, 7, 2.5, x, y, block=8, execute=execute)
            self.assertEqual(list(y), [1 + 2.5 * i for i in range(7)] + [1])
            self.assertGreater(result.counts["instructions"], 50)
        self.assertEqual(nvmini.run(SAXPY, 7, 2.5, x, y, block=8).counts["global.loads"], 2)

    def test_other_ptx(self):
        y = array.array("f", [1])
        nvmini.run(str(nvmini.compile(SAXPY, cpu="sm_90a")), 1, 1, y[:], y)
        self.assertEqual(y[0], 2)

    def test_finding(self):
        x, y = array.array("f", range(8)), array.array("f", [1] * 8)
        with self.assertRaises(nvmini.Finding) as caught:
            nvmini.run(SAXPY, 9, 2.5, x, y, grid=3, block=4)
        finding = caught.exception
        self.assertEqual((finding.kind, finding.kernel, finding.block, finding.thread),
                         ("out-of-bounds", "saxpy", (2, 0, 0), (0, 0, 0)))
        self.assertIn("ld.global.f32", finding.text)
        self.assertIn("out-of-bounds: kernel saxpy, block (2,0,0), thread (0,0,0) reads 4 bytes", str(finding))
        self.assertEqual(list(y), [1] * 8)

    def test_finding_in_ir(self):
        program = nvmini.load(SAXPY, execute="ir")
        with self.assertRaises(nvmini.Finding) as caught:
            program["saxpy"](1, 1.0, None, array.array("f", [1]))
        self.assertEqual(program.text.split("\n")[caught.exception.line - 1], caught.exception.text)
        self.assertIn("load float", caught.exception.text)

    def test_race(self):
        text = kernel("  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  store i32 %i, ptr %p")
        with self.assertRaises(nvmini.Finding) as caught:
            nvmini.run(text, array.array("i", [0]), block=64)
        self.assertEqual(caught.exception.kind, "race")
        nvmini.run(text, array.array("i", [0]), block=64, checks=False)

    def test_step_limit(self):
        endless = f"{HEAD}define ptx_kernel void @k() {{\n  br label %a\na:\n  br label %a\n}}\n"
        with self.assertRaises(nvmini.Finding) as caught:
            nvmini.run(endless, step_limit=100000)
        self.assertEqual(caught.exception.kind, "step-limit")

    def test_numbers(self):
        def stored(kind, value, execute="ptx"):
            data = array.array("B", bytes(8))
            nvmini.run(kernel(f"  store {kind} %x, ptr %p", f"ptr %p, {kind} %x"), data, value, execute=execute)
            return bytes(data)
        for execute in ("ptx", "ir"):
            self.assertEqual(stored("i8", -1, execute)[:2], b"\xff\0")
            self.assertEqual(stored("i16", 0xFFFF, execute)[:3], b"\xff\xff\0")
            self.assertEqual(stored("i64", -2, execute), struct.pack("<q", -2))
            self.assertEqual(stored("float", 3, execute)[:4], struct.pack("<f", 3))
            self.assertEqual(stored("double", 0.1, execute), struct.pack("<d", 0.1))
        self.assertEqual(stored("half", 1.5, "ir")[:2], struct.pack("<e", 1.5))
        self.assertEqual(stored("bfloat", 1.0, "ir")[:2], b"\x80\x3f")
        for kind, value, error in (("i8", 256, OverflowError), ("i8", -129, OverflowError), ("i32", 1.5, TypeError),
                                   ("i32", "1", TypeError), ("float", None, TypeError)):
            with self.assertRaises(error, msg=f"{kind} {value}"):
                stored(kind, value)

    def test_structure(self):
        text = HEAD + ("define ptx_kernel void @k(ptr %p, ptr byval({ i32, double }) %s) {\n"
                       "  %q = getelementptr i8, ptr %s, i64 8\n  %x = load double, ptr %q\n  store double %x, ptr %p\n  ret void\n}\n")
        data = array.array("d", [0])
        for execute in ("ptx", "ir"):
            nvmini.run(text, data, struct.pack("<ixxxxd", 1, 2.5), execute=execute)
            self.assertEqual(data[0], 2.5)
        with self.assertRaisesRegex(TypeError, "argument 1 of k: an array of 3 bytes"):
            nvmini.run(text, data, b"abc")

    def test_arrays(self):
        program = nvmini.load(SAXPY)
        y = array.array("f", [1, 2])
        program["saxpy"](2, 1.0, y, y, block=2)  # the same buffer twice
        self.assertEqual(list(y), [2, 4])
        frozen = bytes(y)
        with self.assertRaises(ValueError):
            view = memoryview(y)
            program["saxpy"](1, 1.0, view[:1], y)
        program["saxpy"](1, 1.0, y, frozen)  # bytes are not written back
        self.assertEqual(frozen, bytes(y))
        with self.assertRaisesRegex(TypeError, "4 parameters, but 1 arguments"):
            program["saxpy"](1)
        with self.assertRaises(KeyError):
            program.launch("other")
        self.assertEqual([(p.kind, p.bytes) for p in program["saxpy"].parameters],
                         [("integer", 4), ("float", 4), ("pointer", 8), ("pointer", 8)])

    def test_variables(self):
        text = HEAD + ("@n = addrspace(1) global i32 5\ndefine ptx_kernel void @k() {\n"
                       "  %x = atomicrmw add ptr addrspace(1) @n, i32 1 monotonic\n  ret void\n}\n")
        program = nvmini.load(text)
        n = program.variable("n")
        for _ in range(2):
            program.launch(block=3)
        self.assertEqual(int.from_bytes(n, "little"), 11)
        n[0] = 1
        program.launch()
        self.assertEqual(n[0], 2)
        del program
        self.assertEqual(n[0], 2)  # the view keeps it
        with self.assertRaises(KeyError):
            nvmini.load(text).variable("m")

    def test_output_and_trace(self):
        text = HEAD + ('@s = internal addrspace(4) constant [4 x i8] c"hi\\0A\\00"\ndeclare i32 @vprintf(ptr, ptr)\n'
                       "define ptx_kernel void @k() {\n"
                       "  %n = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @s to ptr), ptr null)\n  ret void\n}\n")
        result = nvmini.run(text, block=2, trace=(0, 1))
        self.assertEqual(result.output, "hi\nhi\n")
        self.assertTrue(any("call" in line for line in result.trace))
        self.assertEqual(nvmini.run(text).trace, ())

    def test_launches(self):
        program = nvmini.load(SAXPY)
        y = array.array("f", [0] * 6)
        program["saxpy"](6, 1.0, array.array("f", [1] * 6), y, grid=(3,), block=(2, 1), seed=7)
        self.assertEqual(list(y), [1] * 6)
        for wrong in (0, (1, 2, 3, 4), -1, (), "4", 1.5):
            with self.assertRaises((ValueError, TypeError), msg=str(wrong)):
                program["saxpy"](6, 1.0, y, y, grid=wrong)
        with self.assertRaises(nvmini.Finding) as caught:
            program["saxpy"](6, 1.0, y, y, block=2048)
        self.assertEqual(caught.exception.kind, "bad-launch")
        self.assertIsNone(caught.exception.thread)

    def test_closed(self):
        with nvmini.load(SAXPY) as program:
            pass
        program.close()
        for use in (lambda: program["saxpy"](0, 0, None, None), lambda: program.variable("n"), lambda: program.address("n")):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()

    def test_bad_ptx(self):
        with self.assertRaises(nvmini.InputError) as caught:
            nvmini.load(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { nonsense; }\n")
        self.assertEqual(caught.exception.line, 4)

    def test_threads(self):
        program, failed = nvmini.load(SAXPY), []

        def work():
            for n in range(1, 20):
                y = array.array("f", [1] * n)
                program["saxpy"](n, 2.0, array.array("f", range(n)), y, block=n)
                if list(y) != [1 + 2 * i for i in range(n)]:
                    failed.append(n)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])


@unittest.skipIf(numpy is None, "numpy is not installed")
class NumPy(unittest.TestCase):
    def test_arrays(self):
        x, y = numpy.arange(1000, dtype=numpy.float32), numpy.ones(1000, dtype=numpy.float32)
        nvmini.run(SAXPY, numpy.int32(1000), numpy.float32(2.5), x, y, grid=4, block=256)
        numpy.testing.assert_array_equal(y, 1 + numpy.float32(2.5) * x)

    def test_refused(self):
        y = numpy.ones(16, dtype=numpy.float32)
        with self.assertRaises(ValueError):
            nvmini.run(SAXPY, 2, 2.5, y[::2], y.copy())
        with self.assertRaises(ValueError):
            nvmini.run(SAXPY, 2, 2.5, y[:4], y[2:])
        nvmini.run(SAXPY, 4, 2.5, y[:4], y[4:], block=4)

    def test_types(self):
        text = kernel("  store i16 7, ptr %p")
        for dtype in ("complex64", [("a", "i4"), ("b", "f4")], "float16", "int64"):
            data = numpy.zeros(4, dtype)
            nvmini.run(text, data)
            self.assertEqual(data.tobytes()[:4], b"\7\0\0\0")
        nvmini.run(kernel(""), numpy.zeros((0, 3)))
        record = numpy.array((1, 2.5), dtype=numpy.dtype([("n", "i4"), ("x", "f8")], align=True))
        out = numpy.zeros(1)
        nvmini.run(HEAD + "define ptx_kernel void @k(ptr %p, { i32, double } %s) {\n  %x = extractvalue { i32, double } %s, 1\n"
                   "  store double %x, ptr %p\n  ret void\n}\n", out, record)
        self.assertEqual(out[0], 2.5)


if __name__ == "__main__":
    unittest.main()
