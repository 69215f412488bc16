#!/bin/sh
# Runs the compiler over folders of real modules; check_modules.py does the work and explains itself.
exec python3 "$(dirname "$0")/check_modules.py" "$@"
