// Proofs that show more the longer they run. `npm test` has a short form of each, except for the mutants: the gate only
// checks that each patch still finds its place.

/** A proof ends with this code where the machine lacks what the proof needs; it has said what. */
export const SKIPPED = 77

export type Proof = {
  readonly name: string
  /** From the root of the repository, with its arguments. */
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** The lines of its output that have the figures. */
  readonly figures: RegExp
}

/** These take as long as they take. */
const always: readonly Proof[] = [
  {
    name: 'projects',
    command: ['test/package/projects/main.ts'],
    figures: /^(passed|failed|skipped) |projects passed/,
  },
  {
    name: 'trade',
    command: ['test/package/trade/main.ts'],
    figures: /packages, \d+ not as expected|packages tried/,
  },
  {
    name: 'engines',
    command: [
      'test/proofs/conformance/main.ts',
      ...['--dynamodb', 'local', '--s3', 'minio', '--sqs', 'elasticmq'],
    ],
    figures: /^(DynamoDB Local|MinIO|ElasticMQ) .* \d+$|^skipped: /,
  },
  {
    name: 'bare',
    command: ['test/proofs/bare/main.ts'],
    figures: /^npm (start|test) in |Tests |^skipped: /,
  },
  {
    name: 'mutants',
    command: ['test/proofs/mutants/main.ts'],
    figures: /mutants killed/,
  },
]

/**
 * `share` is the part of the usual length, to try a change of a proof. Each day begins 100,000 seeds
 * after the day before.
 */
export function proofsOf(nowMs: number, share: number): readonly Proof[] {
  const from = String((Math.floor(nowMs / 86_400_000) % 10_000) * 100_000)
  const times = (count: number) => String(Math.max(1, Math.round(count * share)))
  const seeds = (count: number) => ['--from', from, '--seeds', times(count)]
  return [
    {
      name: 'world',
      command: ['test/proofs/world/main.ts', '--crossings', '20', ...seeds(100_000)],
      figures: /^\d+ seeds in |Every invariant holds|VIOLATES|^met .* not /,
    },
    {
      name: 'linearisability',
      command: [
        'node_modules/vitest/vitest.mjs',
        'run',
        'test/proofs/linearisability/linearisability.test.ts',
      ],
      environment: { PUSHPOP_HISTORIES: times(600) },
      figures: /\d+ histories /,
    },
    {
      name: 'kill',
      command: ['node_modules/vitest/vitest.mjs', 'run', 'test/proofs/kill/kill.test.ts'],
      environment: { PUSHPOP_KILLS: times(2_000) },
      figures: /\d+ kills /,
    },
    {
      name: 'hostile-requests',
      command: ['node_modules/vitest/vitest.mjs', 'run', 'test/http/generated.test.ts'],
      environment: { PUSHPOP_GENERATED: times(500_000) },
      figures: /Tests /,
    },
    {
      name: 'soak',
      command: ['test/proofs/soak/main.ts', '--seconds', times(900)],
      figures: /^seed \d+;|items pushed|lost, doubled/,
    },
    {
      name: 'soak-kill',
      command: ['test/proofs/soak/main.ts', '--seconds', times(600), '--kill', '300'],
      figures: /^seed \d+;|items pushed|lost, doubled/,
    },
    {
      name: 'ends',
      command: ['test/proofs/ends/main.ts', '--rounds', times(40)],
      figures: /^\d+ ends, seed|LOST/,
    },
    ...always,
  ]
}
