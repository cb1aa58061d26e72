#!/usr/bin/env node
// The command line: npm run pushpop -- help

import { watchForInterrupt } from './interrupt.ts'
import { runCli } from './run-cli.ts'

const args = process.argv.slice(2)
const { stdin, stdout, stderr, env } = process

// npm runs its scripts in the package's folder; paths are relative to where you typed them.
const typedIn = env.npm_lifecycle_event === 'pushpop' ? env.INIT_CWD : undefined
if (typedIn !== undefined && args[0] !== 'start') process.chdir(typedIn)

// `start` watches for its end by itself.
const interrupt = args[0] === 'start' ? new AbortController().signal : watchForInterrupt(process)

// Not left to an empty event loop: a connection that is kept alive, or stdin, would hold it open.
process.exit(await runCli(args, { stdin, stdout, stderr, env, interrupt }))
