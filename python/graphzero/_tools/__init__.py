"""What benchmarks and the demo share: child processes, control groups, cold files, and facts about the machine."""
