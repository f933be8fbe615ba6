"""What people and judging models say of answers and items: sheets, rubrics, verdicts, agreement, audits."""
