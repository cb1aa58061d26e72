// Each of the projects in an empty folder, installed from the registry: what docs/package.md says is supported.
//
//   node test/package/projects/main.ts [NAME …]
//
// It needs the npm registry, and minutes. A project whose tools cannot be had is skipped, with a sentence.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type LocalStack, startLocalStack } from '../../../local/start-local-stack.ts'
import { packInto, root, run } from '../a-project.ts'
import { type Project, projects } from './projects.ts'
import { startAndUse } from './start-and-use.ts'

const files = join(import.meta.dirname, 'files')
/** Ours first: the Node 24 and the CDK's command line of this repository. */
const ownBin = join(root, 'node_modules/.bin')

const names = process.argv.slice(2)
const chosen = projects.filter(({ name }) => names.length === 0 || names.includes(name))
const folder = mkdtempSync(join(tmpdir(), 'pushpop-projects-'))
let stack: LocalStack | undefined
try {
  const packed = await packInto(folder)
  stack = await startLocalStack({ port: 0 })
  const verdicts: Verdict[] = []
  for (const project of chosen) {
    const startedMs = performance.now()
    const verdict = await tryOut(project, { url: stack.url, packed })
    verdicts.push(verdict)
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(0)
    console.log(
      `${verdict.kind.padEnd(8)} ${project.name.padEnd(16)} ${seconds} s  ${project.shows}`,
    )
    if (verdict.kind !== 'passed') console.log(verdict.said)
  }
  const count = (kind: Verdict['kind']) => verdicts.filter((one) => one.kind === kind).length
  console.log(
    `${count('passed')} projects passed, ${count('failed')} failed, ${count('skipped')} skipped`,
  )
  process.exitCode = count('failed') === 0 ? 0 : 1
} finally {
  await stack?.stop()
  rmSync(folder, { recursive: true, force: true })
}

type Verdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed' | 'skipped'; readonly said: string }

type Given = { readonly url: string; readonly packed: Awaited<ReturnType<typeof packInto>> }

async function tryOut(project: Project, { url, packed }: Given): Promise<Verdict> {
  // The CDK names what it makes after the folder.
  const cwd = join(folder, project.name, 'app')
  const env = {
    ...process.env,
    PATH: [join(cwd, 'node_modules/.bin'), ownBin, process.env.PATH].join(delimiter),
    PUSHPOP_ENDPOINT: url,
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    NEXT_TELEMETRY_DISABLED: '1',
    CI: 'true',
  }
  const call = ([command = '', ...args]: readonly string[]) => run(command, args, { cwd, env })
  mkdirSync(cwd, { recursive: true })
  if (project.init !== undefined) {
    const made = await call(project.init)
    if (made.code !== 0) return { kind: 'failed', said: made.stdout + made.stderr }
  }
  cpSync(join(files, project.name), cwd, { recursive: true })
  const tarball = join(folder, packed[project.of ?? 'pushpop'].filename)
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error']
  const installed = await call(['npm', 'install', ...quietly, tarball, ...project.install])
  if (installed.code !== 0) {
    const cannotBeHad = /ENOTFOUND|ETARGET|E404|EAI_AGAIN|ECONNREFUSED/.test(installed.stderr)
    return { kind: cannotBeHad ? 'skipped' : 'failed', said: installed.stderr }
  }
  for (const command of project.commands) {
    const { code, stdout, stderr } = await call(command)
    if (code !== 0) {
      return { kind: 'failed', said: `$ ${command.join(' ')} (${code})\n${stdout}${stderr}` }
    }
  }
  if (project.starts !== undefined) {
    try {
      await startAndUse(cwd, project.starts)
    } catch (error) {
      return { kind: 'failed', said: `$ pushpop start --app ${project.starts}\n${error}` }
    }
  }
  return { kind: 'passed' }
}
