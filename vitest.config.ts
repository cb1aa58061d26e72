import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Processes, not threads: a test file may start servers, take signals and read its own
    // environment, and none of that is separate between threads.
    pool: 'forks',
    // Vitest alone leaves one core to itself, which on two cores is half of them.
    maxWorkers: availableParallelism(),
    // The embedded stores start on a busy two-core machine as well.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    watch: false,
  },
})
