"""sanitizers.py FILE: runs each CASE of FILE with the fault and without, in each front end; see there."""
import re
import subprocess
import sys

WAYS = {"PTX -O0": (0, ["-O0"]), "PTX -O2": (0, ["-O2"]), "IR": (1, ["--from", "ir"])}


def main(path):
    wrong = cases = 0
    for name, finding, options in re.findall(r"^; CASE: (\S+) (\S+)(.*)$", open(path, encoding="utf-8").read(), re.M):
        cases += 1
        for way, (which, level) in WAYS.items():
            wanted = finding.split("/")[which if "/" in finding else 0]
            for how in (0, 1):
                p = subprocess.run(["nvmini", "run", path, "--kernel", name, "--arg", f"i32:{how}", *options.split(), *level],
                                   capture_output=True, text=True, check=False)
                found = re.match(r"nvmini: (\S+): kernel", p.stderr)
                found = found[1] if found and p.returncode == 1 else "-" if p.returncode == 0 and not p.stderr else p.stderr
                if found != (wanted if how == 0 else "-"):
                    wrong += 1
                    print(f"{name}, {way}, {'twin' if how else 'fault'}: wanted {wanted if how == 0 else '-'}, got {found}")
    print(f"{cases} cases in PTX of -O0 and -O2 and in IR: " +
          ("every fault found, every twin silent" if not wrong else f"{wrong} are wrong"))
    return wrong != 0


sys.exit(main(sys.argv[1]))
