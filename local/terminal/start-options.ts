// The arguments of `npm start`, and of `pushpop start`.

import { nameMeant } from '../../shared/options.ts'
import { PORT } from '../start-local-stack.ts'

export type StartOptions = {
  readonly port: number
  /** Absent if all data is forgotten at the end. */
  readonly directory?: string | undefined
  readonly app?: string | undefined
  readonly watch: boolean
  /** Where to write what other programs need to reach the stores. */
  readonly envFile?: string | undefined
}

/** The command that the user typed the options after. */
export type Typed = 'npm start --' | 'pushpop start'

type ReadArguments =
  | { readonly kind: 'start'; readonly options: StartOptions }
  | { readonly kind: 'help' }
  /** A sentence that says which and why. */
  | { readonly kind: 'wrong'; readonly sentence: string }

const DATA_DIRECTORY = '.pushpop'

const options = [
  { name: 'port', value: 'N', help: `listen on port N instead of ${PORT}; 0 takes any free one` },
  { name: 'data', value: 'DIR', help: `keep the data in DIR instead of ${DATA_DIRECTORY}` },
  { name: 'memory', help: 'forget all data at the end' },
  { name: 'app', value: 'FILE', help: "run the CDK app in FILE instead of PushPop's own" },
  { name: 'watch', help: 'run changed handlers as soon as their files are written' },
  {
    // Not `env-file`, which Node takes for itself, even behind the script's name.
    name: 'env',
    value: 'FILE',
    help: 'write to FILE how other programs reach the table and the bucket',
  },
  { name: 'help', help: 'print this' },
] as const

type Name = (typeof options)[number]['name']

export const helpOf = (typed: Typed): string =>
  [
    'Runs PushPop on this machine: what `cdk deploy` would deploy, on embedded stores.',
    '',
    `  ${typed} [options]`,
    '',
    ...options.map((option) => {
      const usage = 'value' in option ? `--${option.name} ${option.value}` : `--${option.name}`
      return `  ${usage.padEnd(12)} ${option.help}`
    }),
  ].join('\n')

export function readArguments(
  args: readonly string[],
  typed: Typed = 'npm start --',
): ReadArguments {
  const wrong: Wrong = (reason) => ({
    kind: 'wrong',
    sentence: `Cannot start because ${reason}; ${typed} --help lists what there is`,
  })
  const given = new Map<Name, string>()
  for (let at = 0; at < args.length; at++) {
    const [flag = '', inline] = splitOnce(args[at] ?? '', '=')
    if (flag === '-h') return { kind: 'help' }
    const option = options.find(({ name }) => flag === `--${name}`)
    if (!option) return wrong(`there is no option ${JSON.stringify(args[at])}${meantBy(flag)}`)
    if (!('value' in option)) {
      if (inline !== undefined) return wrong(`${flag} takes no value`)
      given.set(option.name, '')
      continue
    }
    const value = inline ?? args[++at]
    if (value === undefined || value === '') return wrong(`${flag} needs a value`)
    given.set(option.name, value)
  }
  if (given.has('help')) return { kind: 'help' }
  return readOptions(given, wrong)
}

function meantBy(word: string): string {
  if (/^[^-].*\.[cm]?[jt]s$/.test(word)) return `; did you mean --app ${word}?`
  const names = options.map(({ name }) => name)
  const meant = word.startsWith('--') ? nameMeant(word.slice(2), names) : undefined
  return meant === undefined ? '' : `; did you mean --${meant}?`
}

/**
 * Options that npm took for its own: `npm start --port=8102` gives us none of it, but a variable. With nothing said
 * we would start with other settings than the user typed.
 */
export function takenByNpm(
  environment: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
) {
  const taken = options.find(({ name }) => environment[`npm_config_${name}`] !== undefined)
  if (taken === undefined || environment.npm_lifecycle_event !== 'start') return undefined
  const value = 'value' in taken ? ` ${valueTaken(taken, environment, args)}` : ''
  return `Cannot start because npm took --${taken.name} for itself; write npm start -- --${taken.name}${value}`
}

/** In `npm start --port 8102`, npm takes `--port` as its own flag and leaves us only the number. */
function valueTaken(
  { name, value }: Extract<(typeof options)[number], { readonly value: string }>,
  environment: Readonly<Record<string, string | undefined>>,
  [first]: readonly string[],
): string {
  const taken = environment[`npm_config_${name}`]
  if (taken !== 'true' && taken !== '') return String(taken)
  return first === undefined || first.startsWith('-') ? value : first
}

type Wrong = (reason: string) => ReadArguments

function readOptions(given: ReadonlyMap<Name, string>, wrong: Wrong): ReadArguments {
  const port = given.get('port') ?? String(PORT)
  if (!/^\d+$/.test(port) || Number(port) > 65_535) {
    return wrong(`--port must be a number from 0 to 65535, not ${JSON.stringify(port)}`)
  }
  if (given.has('memory') && given.has('data')) {
    return wrong('--memory and --data contradict each other')
  }
  const directory = given.has('memory') ? undefined : (given.get('data') ?? DATA_DIRECTORY)
  const app = given.get('app')
  return {
    kind: 'start',
    options: {
      port: Number(port),
      directory,
      app,
      watch: given.has('watch'),
      envFile: given.get('env'),
    },
  }
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
