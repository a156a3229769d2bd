#!/usr/bin/env python3
"""Print `sallyport audit tail -o json` (stdin) as a table: what was asked,
and why it was denied."""
import json
import sys

SHOWN = {"request", "push", "sandbox"}


def main():
    print(f"{'':8}{'WHAT':22} {'WHERE':44} WHY")
    for line in sys.stdin:
        row = json.loads(line)
        if row["activity"] not in SHOWN:
            continue
        where = row.get("path", "")
        if row["activity"] == "request":
            where = row.get("host", "") + where
        why = row.get("constraint") or row.get("rule", "")
        if not row["allowed"] and row.get("detail"):
            why += ": " + row["detail"]
        what = row["activity"] + " " + row.get("method", "")
        print(f"{'allowed' if row['allowed'] else 'DENIED':8}{what:22} "
              f"{where:44} {why}")


main()
