#!/usr/bin/env node
// The command line: npm run pushpop -- help

import { nodeTooOld } from '../shared/node-version.ts'

const { stdin, stdout, stderr, env, argv } = process

// For zstd, which reading a table needs, and for `JSON.rawJSON`, which keeps numbers as they are. Before
// anything else is loaded: an older Node cannot even load what uses them.
const tooOld = nodeTooOld('22.15', 'the command line')
if (tooOld !== undefined) {
  stderr.write(`${tooOld}\n`)
  process.exit(1)
}

const { watchForInterrupt } = await import('./program.ts')
const { runCli } = await import('./run-cli.ts')
const { typedAs } = await import('./program.ts')

const args = argv.slice(2)
const typedIn = env.npm_lifecycle_event === 'pushpop' ? env.INIT_CWD : undefined
const program = typedAs(env, argv[1] ?? '', process.cwd())

// npm runs its scripts in the package's folder; paths are relative to where you typed them.
if (typedIn !== undefined && args[0] !== 'start') process.chdir(typedIn)

// `start` watches for its end by itself.
const interrupt = args[0] === 'start' ? new AbortController().signal : watchForInterrupt(process)

// Exit explicitly: a connection that is kept alive, or stdin, would keep the event loop running.
process.exit(await runCli(args, { stdin, stdout, stderr, env, interrupt, program }))
