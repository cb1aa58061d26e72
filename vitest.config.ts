import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Those of four seconds and more, the longest first: begun last, one of them would run alone at the end. Those
 * that mostly wait are further up than they are long, so that others compute meanwhile.
 */
const long = [
  'proofs/world/world',
  'lambdas/consumer/stack',
  'proofs/crash/crash',
  'local/due-after-restart',
  'package/package',
  'lambdas/http/over-http',
  'examples/recipes',
  'proofs/kill/kill',
  'cli/verify/verify',
  'proofs/linearisability/linearisability',
  'rate/over-http',
  'proofs/soak/soak',
  'aws/network/first-call',
  'proofs/ends/ends',
  'local/watch',
  'client/stack',
  'lib/deploy',
  'cli/rate',
  'local/end',
  'lambdas/http/contract',
  'lambdas/background/announcements/none-missed',
  'lambdas/background/announcements/end-to-end',
  'cli/commands',
  'lib/synth',
  'engine/reading',
  'local/schedules-in-code',
  'engine/frozen',
  'local/queues',
  'lib/consumer-bundle',
  'engine/housekeep',
  'testing/embedded',
  'engine/large-answers',
  'examples/orders',
  'cli/interrupt',
  'lambdas/http/generated',
  'local/streams',
  'lib/consumer',
  'examples/deploy',
  'local/refusals',
  'local/start',
  'local/functions/function-pool',
  'engine/transact-item',
  'lib/cfn-lint',
  'local/functions/function-process',
  'events/invoke',
  'rate/requests',
  'engine/many-lanes',
  'lib/schedule',
  'lambdas/consumer/many',
  'lib/bundles',
  'lib/nag',
  'engine/sweep',
  'examples/inbox',
  'cli/many-queues',
].map((name) => `/test/${name}.test.ts`)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = long.findIndex((name) => moduleId.endsWith(name))
      return place === -1 ? long.length : place
    }
    // Stable: the others stay in Vitest's order, the largest first.
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The tests of projects that the package is tried in belong to those projects.
    exclude: ['test/package/projects/files/**'],
    // Processes, not threads: a test file may start servers, take signals and read its own
    // environment, and none of that is separate between threads.
    pool: 'forks',
    // There are more processes than cores, so helpers of the garbage collector only take time from
    // others; and with room for what is young, from the start, it runs seldom.
    execArgv: ['--single-threaded-gc', '--min-semi-space-size=64', '--max-semi-space-size=64'],
    // One process works many files, one after the other, and loads what they share once: that is a
    // sixth of all the time. So a file puts back what it changes in its process.
    isolate: false,
    // Two more than there are cores. One, because what runs on the local stack mostly waits, for a lock to
    // expire or a window to pass, and others can compute meanwhile. And one for the simulation: its processes
    // take only what the others leave (test/proofs/world/harness/pool.ts), so no core is ever idle.
    maxWorkers: availableParallelism() + 2,
    // The embedded stores start on a busy machine of two cores as well. At a load of 20 to 30, a minute was too little.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    watch: false,
    // Node runs the tests as it runs the code, and nothing is transformed before.
    experimental: { viteModuleRunner: false },
    globalSetup: 'test/support/folder-of-the-run.ts',
    sequence: { sequencer: LongestFirst },
  },
})
