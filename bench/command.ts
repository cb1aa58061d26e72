// Reads the arguments of `npm run bench`.

import { parseArgs } from 'node:util'
import type { Scenario } from './bench.ts'
import { scenarios } from './scenarios/index.ts'

const declared = {
  only: { type: 'string' },
  quick: { type: 'boolean', default: false },
  explain: { type: 'boolean', default: false },
  json: { type: 'string' },
  'write-docs': { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const help = `npm run bench [-- OPTIONS]

  --only NAME,NAME  these scenarios alone
  --quick           a tenth of the items: figures to look at, not to compare
  --explain         which requests cost what
  --json FILE       writes the rows into FILE as well
  --write-docs      writes docs/benchmark.md and its chart
  --list            lists the scenarios, and runs none
`

/** Ends the process if there is nothing to run: the list and the help were asked for, or something unknown. */
export function readCommand(args: readonly string[]) {
  const options = parsed(args)
  if (options.list || options.help) {
    console.log(options.list ? listed() : `${help}\nScenarios:\n${listed()}`)
    process.exit(0)
  }
  const only = options.only?.split(',')
  const unknown = only?.find((name) => !scenarios.some((known) => known.name === name))
  if (unknown !== undefined) {
    const names = scenarios.map(({ name }) => name).join(', ')
    refuse(`Cannot run the scenario "${unknown}" because there are only: ${names}`)
  }
  const wanted: readonly Scenario[] = scenarios.filter(({ name }) => only?.includes(name) ?? true)
  return { options, wanted }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: declared }).values
  } catch (error) {
    // Its first sentence says what is wrong; the others are about arguments by position.
    const [reason] = (error as Error).message.split('. ')
    return refuse(`Cannot run the benchmark: ${reason}; --help shows the options`)
  }
}

function refuse(sentence: string): never {
  console.error(sentence)
  process.exit(2)
}

const listed = (): string =>
  scenarios.map(({ name, title }) => `  ${name.padEnd(18)}${title}`).join('\n')
