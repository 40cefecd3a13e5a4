"""From a run's rows to figures people can read: sums, tables, drawings, pages."""
