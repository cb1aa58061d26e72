// `npm run nightly`: all that runs long and rarely, one after the other, with a line of figures for each.
// It fails if one fails, and then prints all output of that one.

import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { type Proof, proofsOf, SKIPPED } from './nightly/proofs.ts'

const help = `npm run nightly -- [options]
  --only NAME   this one alone
  --list        name them, with their commands
  --share N     so much of the usual length: 0.01 to try it (1)`

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    share: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

const proofs = proofsOf(Date.now(), Number(values.share))
process.exitCode = await main()

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
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
