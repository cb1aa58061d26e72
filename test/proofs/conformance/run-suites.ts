// Runs test files by vitest, and counts what became of each case.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

export type Suite = {
  /** What is tested. */
  readonly engine: string
  readonly name: string
  /** By a file's path from the root of the repository. */
  readonly holds: (file: string) => boolean
}

type Case = {
  readonly title: string
  readonly fullName: string
  readonly status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo' | 'disabled'
  readonly failureMessages?: readonly string[]
}

type Results = {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: readonly Case[]
  }[]
}

const root = join(import.meta.dirname, '../../..')

/** Prints one table, and resolves to the exit code. */
export async function runSuites(
  suites: readonly Suite[],
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<number> {
  const all = globSync('test/{proofs/conformance,engine}/**/*.test.ts', { cwd: root })
  const files = all.filter((file) => suites.some((suite) => suite.holds(file)))
  if (files.length === 0) {
    console.error('Cannot test anything because no other engine is named; --help says how')
    return 2
  }
  const results = await resultsOf(files, args, environment)
  const rows = suites.map((suite) => {
    const ofSuite = results.testResults.filter(({ name }) => suite.holds(relative(root, name)))
    return { ...suite, ...countsOf(ofSuite) }
  })
  for (const { failures } of rows) for (const failure of failures) console.log(failure)
  for (const { engine, excused } of rows) {
    for (const title of new Set(excused)) console.log(`excused  ${engine}: ${title}`)
  }
  console.log(table(rows))
  const isWell = rows.every(({ failures, passed }) => failures.length === 0 && passed > 0)
  return isWell ? 0 : 1
}

async function resultsOf(
  files: readonly string[],
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), 'pushpop-conformance-'))
  const file = join(folder, 'results.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  // Cases on SQS wait for real seconds, all at once; and these engines are slower than ours.
  const patient = ['--maxConcurrency=100', '--testTimeout=600000', '--hookTimeout=600000']
  const own = ['--reporter=dot', '--reporter=json', `--outputFile.json=${file}`]
  const child = spawn(process.execPath, [vitest, 'run', ...files, ...own, ...patient, ...args], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  })
  process.on('exit', () => child.kill())
  await once(child, 'close')
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Results
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Counts = {
  readonly cases: number
  readonly passed: number
  readonly excused: readonly string[]
  readonly failures: readonly string[]
}

function countsOf(files: Results['testResults']): Counts {
  const cases = files.flatMap(({ assertionResults }) => assertionResults)
  const ran = cases.filter(({ status }) => status === 'passed' || status === 'failed')
  const excused = ran.filter(({ title, status }) => status === 'passed' && isExcused(title))
  const failed = ran.filter(({ status }) => status === 'failed')
  const broken = files.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some(isFailed),
  )
  return {
    cases: ran.length,
    passed: ran.length - excused.length - failed.length,
    excused: excused.map(({ title }) => title),
    failures: [
      ...failed.map(
        ({ fullName, title, failureMessages = [] }) =>
          `FAILED   ${fullName}\n${isExcused(title) ? 'It passes: the excuse is none any more.' : failureMessages.join('\n')}`,
      ),
      ...broken.map(({ name, message = '' }) => `FAILED   ${relative(root, name)}\n${message}`),
    ],
  }
}

const isFailed = ({ status }: Case): boolean => status === 'failed'
const isExcused = (title: string): boolean => title.includes('(not here: ')

function table(rows: readonly (Suite & Counts)[]): string {
  const lines = [
    ['engine', 'suite', 'cases', 'passed', 'excused', 'failed'],
    ...rows.map(({ engine, name, cases, passed, excused, failures }) => [
      engine,
      name,
      ...[cases, passed, excused.length, failures.length].map(String),
    ]),
  ]
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n')
}
