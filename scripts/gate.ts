// The one gate: types, lint, the way of the imports, every test. `npm run check` runs all but the tests.
// With arguments for vitest, it runs only the tests that they name: `npm test -- test/engine/core`.

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)

type Step = {
  readonly name: string
  /** From the root of the repository; run by this Node rather than by the first one on the path. */
  readonly script: string
  readonly args: readonly string[]
}

const tests: Step = { name: 'tests', script: 'node_modules/vitest/vitest.mjs', args: ['run'] }
const all: readonly Step[] = [
  { name: 'types', script: 'node_modules/typescript/bin/tsc', args: ['--noEmit', '--pretty'] },
  { name: 'lint', script: 'node_modules/@biomejs/biome/bin/biome', args: ['check', '.'] },
  { name: 'imports', script: 'scripts/imports.ts', args: [] },
  tests,
]

const children = new Set<ReturnType<typeof spawn>>()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    for (const child of children) child.kill(signal)
  })
}

/** Runs a step and says whether it passed; output is held back so that two can run at once. */
function runQuietly(step: Step): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const child = start(step, [], 'pipe')
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.on('error', reject)
    child.on('close', (code) => {
      const passed = code === 0
      heading(step, `${passed ? 'passed' : 'failed'} in ${seconds(startedMs)}`)
      if (!passed) process.stdout.write(output)
      resolve(passed)
    })
  })
}

function runLoudly(step: Step, moreArgs: readonly string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    heading(step, '')
    const child = start(step, moreArgs, 'inherit')
    child.on('error', reject)
    child.on('close', (code) => resolve(code === 0))
  })
}

function start(step: Step, moreArgs: readonly string[], stdio: 'pipe' | 'inherit') {
  const child = spawn(process.execPath, [join(root, step.script), ...step.args, ...moreArgs], {
    cwd: root,
    stdio: ['inherit', stdio, stdio],
  })
  children.add(child)
  child.on('close', () => children.delete(child))
  return child
}

function heading(step: Step, outcome: string) {
  console.log(`── ${[step.name, outcome].filter(Boolean).join(' ')}`)
}

function seconds(sinceMs: number) {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`
}

const names = process.argv.slice(2)
const named = all.filter((step) => names.includes(step.name))
const vitestArgs = names.filter((name) => !named.some((step) => step.name === name))
const steps = named.length > 0 ? named : vitestArgs.length > 0 ? [tests] : all

// The others take seconds and one core each; the tests take both cores and the longest, so they wait
// for the verdict of the quick ones.
const verdicts = await Promise.all(steps.filter((step) => step !== tests).map(runQuietly))
let passed = verdicts.every(Boolean)
if (passed && steps.includes(tests)) passed = await runLoudly(tests, vitestArgs)
process.exitCode = passed ? 0 : 1
