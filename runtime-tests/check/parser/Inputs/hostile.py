"""Prints a text made to hurt: digits, dominance, circle or phi (200,000 cases, as many incoming values)."""
import sys

CASES = 200000
TEXTS = {
    "digits": lambda: "@g = global i128 " + "9" * 100000,
    "dominance": lambda: """define i32 @f(i1 %c) {
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  ret i32 %x
}""",
    "circle": lambda: "!0 = !{!1}\n!1 = distinct !{!0, !1}\n!x = !{!0}",
    "phi": lambda: "define i32 @f(i32 %x) {\nentry:\n  switch i32 %x, label %d ["
                   + " ".join("i32 %d, label %%d" % i for i in range(CASES)) + "]\nd:\n  %p = phi i32 "
                   + ", ".join(["[ 7, %entry ]"] * (CASES + 1)) + "\n  ret i32 %p\n}",
}
print(TEXTS[sys.argv[1]]())
