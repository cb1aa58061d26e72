import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Those of six seconds and more, the longest first: begun last, one of them would run alone at the end. */
const long = [
  'proofs/simulation/simulation',
  'consumer/stack',
  'package/package',
  'examples/recipes',
  'proofs/kill/kill',
  'proofs/crash/crash',
  'http/over-http',
  'proofs/ends/ends',
  'cli/verify/verify',
  'proofs/soak/soak',
  'proofs/linearisability/linearisability',
  'rate/over-http',
  'client/stack',
  'foundation/network/first-call',
  'local/watch',
  'cli/rate',
  'background/announcements/none-missed',
  'background/announcements/end-to-end',
  'infrastructure/deploy',
  'proofs/consumer-simulation/lost-wakeup',
  'proofs/many-simulation/many',
  'local/end',
  'proofs/rate-simulation/rate-simulation',
  'http/contract',
  'local/queues',
  'local/restart',
  'cli/commands',
  'examples/orders',
  'examples/inbox',
  'proofs/schedule-simulation/schedule-simulation',
  'testing/embedded',
  'infrastructure/synth',
  'local/refusals',
  'cli/interrupt',
  'local/streams',
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
    // others; and with room for what is young it runs seldom.
    execArgv: ['--single-threaded-gc', '--max-semi-space-size=64'],
    // One process works many files, one after the other, and loads what they share once: that is a
    // sixth of all the time. So a file puts back what it changes in its process.
    isolate: false,
    // One more than there are cores: what runs on the local stack mostly waits, for a lock to expire
    // or a window to pass, and somebody else can compute meanwhile.
    maxWorkers: availableParallelism() + 1,
    // The embedded stores start on a busy two-core machine as well.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    watch: false,
    // Node runs the tests as it runs the code, and nothing is transformed before.
    experimental: { viteModuleRunner: false },
    globalSetup: 'test/support/folder-of-the-run.ts',
    sequence: { sequencer: LongestFirst },
  },
})
