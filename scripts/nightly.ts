// `npm run nightly`: all proofs that show more the longer they run, one after the other, with a line of figures for
// each. It fails if one fails, and then prints all output of that one. `npm test` has a short form of each, except for
// the mutants: the gate only checks that each patch still finds its place.

import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'

/** A proof ends with this code where the machine lacks what the proof needs; it has said what. */
export const SKIPPED = 77

type Proof = {
  readonly name: string
  /** From the root of the repository, with its arguments. */
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** The lines of its output that have the figures. */
  readonly figures: RegExp
}

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
      command: ['node_modules/vitest/vitest.mjs', 'run', 'test/lambdas/http/generated.test.ts'],
      environment: { PUSHPOP_GENERATED: times(500_000) },
      figures: /Tests /,
    },
    {
      name: 'announcements',
      command: [
        'node_modules/vitest/vitest.mjs',
        'run',
        'test/lambdas/background/announcements/none-missed.test.ts',
      ],
      environment: { PUSHPOP_TRANSITIONS: times(100_000) },
      figures: /Tests /,
    },
    {
      name: 'first-call',
      command: ['node_modules/vitest/vitest.mjs', 'run', 'test/aws/network/first-call.test.ts'],
      environment: { PUSHPOP_ROUNDS: times(200) },
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

const help = `npm run nightly -- [options]
  --only NAME   this one alone
  --list        name them, with their commands
  --share N     so much of the usual length: 0.01 to try it (1)`

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      list: { type: 'boolean', default: false },
      share: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  const proofs = proofsOf(Date.now(), Number(values.share))
  const chosen = proofs.filter(({ name }) => values.only === undefined || name === values.only)
  if (chosen.length === 0) {
    const names = proofs.map(({ name }) => name).join(', ')
    console.error(`Cannot run "${values.only}" because the proofs are ${names}`)
    return 1
  }
  if (values.list) {
    for (const proof of chosen) console.log(`${proof.name.padEnd(20)} ${commandOf(proof)}`)
    return 0
  }
  const verdicts: string[] = []
  let passed = 0
  for (const proof of chosen) {
    const verdict = await run(proof)
    if (verdict === 'passed') passed += 1
    else verdicts.push(`; ${proof.name} ${verdict}`)
  }
  console.log(`${passed} of ${chosen.length} passed${verdicts.join('')}`)
  // A run that proved nothing has not passed either.
  return passed > 0 && !verdicts.some((verdict) => verdict.endsWith('failed')) ? 0 : 1
}

type Verdict = 'passed' | 'skipped' | 'failed'

async function run(proof: Proof): Promise<Verdict> {
  const startedMs = performance.now()
  const { output, verdict } = await outputOf(proof)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
  const figures = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => proof.figures.test(line))
    .join(' | ')
  console.log(
    `${verdict === 'failed' ? 'FAILED' : verdict.padEnd(7)} ${proof.name.padEnd(20)} ${seconds.padStart(6)} s  ${figures}`,
  )
  if (verdict === 'failed') console.log(`$ ${commandOf(proof)}\n${output}`)
  return verdict
}

function outputOf({ command, environment }: Proof): Promise<{ output: string; verdict: Verdict }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, {
      cwd: dirname(import.meta.dirname),
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const stop = (signal: NodeJS.Signals) => child.kill(signal)
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
    for (const signal of signals) process.on(signal, stop)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.on('error', reject)
    child.on('close', (code, signal) => {
      for (const one of signals) process.off(one, stop)
      // If somebody interrupts one proof, the whole run ends, not only that proof.
      if (signal === 'SIGINT' || signal === 'SIGTERM') process.exit(1)
      resolve({ output, verdict: code === 0 ? 'passed' : code === SKIPPED ? 'skipped' : 'failed' })
    })
  })
}

function commandOf({ command, environment = {} }: Proof): string {
  const set = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  return [...set, 'node', ...command].join(' ')
}

if (import.meta.main) process.exitCode = await main()
