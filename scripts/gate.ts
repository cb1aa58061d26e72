// The one gate: types, lint, every test. `npm run check` runs the first two. Arguments that are
// not the name of a step go to vitest: `npm test -- test/engine/core`.

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)

type Step = {
  readonly name: string
  /** A script of a package; run by this Node rather than by whichever the path has. */
  readonly script: string
  readonly args: readonly string[]
}

const types: Step = { name: 'types', script: 'typescript/bin/tsc', args: ['--noEmit', '--pretty'] }
const lint: Step = { name: 'lint', script: '@biomejs/biome/bin/biome', args: ['check', '.'] }
const tests: Step = { name: 'tests', script: 'vitest/vitest.mjs', args: ['run'] }

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
  const child = spawn(
    process.execPath,
    [join(root, 'node_modules', step.script), ...step.args, ...moreArgs],
    { cwd: root, stdio: ['inherit', stdio, stdio] },
  )
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
const steps = [types, lint, tests].filter((step) => names.includes(step.name))
const wanted = steps.length > 0 ? steps : [types, lint, tests]
const vitestArgs = names.filter((name) => !steps.some((step) => step.name === name))

// Types and lint take a second each and use one core each; tests take both cores and the longest,
// so they wait for the verdict of the quick two.
const verdicts = await Promise.all(wanted.filter((step) => step !== tests).map(runQuietly))
let passed = verdicts.every(Boolean)
if (passed && wanted.includes(tests)) passed = await runLoudly(tests, vitestArgs)
process.exitCode = passed ? 0 : 1
