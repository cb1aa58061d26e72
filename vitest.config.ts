import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Processes, not threads: a test file may start servers, take signals and read its own
    // environment, and none of that is separate between threads.
    pool: 'forks',
    // One more than there are cores: what runs on the local stack mostly waits, for a lock to expire
    // or a window to pass, and somebody else can compute meanwhile.
    maxWorkers: availableParallelism() + 1,
    // The embedded stores start on a busy two-core machine as well.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    watch: false,
  },
})
