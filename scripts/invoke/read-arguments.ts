import { readFileSync } from 'node:fs'
import { StartError } from '../../local/start-error.ts'

export type Step = {
  /** Its logical id in the template. */
  readonly functionId: string
  readonly file: string
  readonly event: unknown
}

export type Arguments = {
  readonly steps: readonly Step[]
  /** Keeps the data there; without it every call begins with nothing. */
  readonly directory: string | undefined
}

export const usage = [
  'Runs functions of the synthesised stack on embedded stores, one after the other.',
  '',
  '  npm run invoke -- Push events/push.json [Pop events/pop.json …] [--data DIR]',
  '',
  '  --data DIR   keep the data in DIR, for the next call',
  '',
  'A lock id AAAAAAAAAAA in an event stands for the lock that an earlier pop of the same call made.',
].join('\n')

export function readArguments(args: readonly string[]): Arguments | 'help' {
  const words: string[] = []
  let directory: string | undefined
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] as string
    if (word === '--help' || word === '-h') return 'help'
    if (word === '--data') {
      at += 1
      directory = args[at]
      if (!directory) throw new StartError('Cannot keep the data because --data needs a folder')
    } else if (word.startsWith('-')) {
      throw new StartError(`Cannot run anything because there is no option ${word}`)
    } else {
      words.push(word)
    }
  }
  if (words.length === 0) return 'help'
  const steps: Step[] = []
  for (let at = 0; at < words.length; at += 2) {
    const [functionId = '', file] = words.slice(at, at + 2)
    if (file === undefined) {
      throw new StartError(
        `Cannot run ${functionId} because no event is given; try ${functionId} events/push.json`,
      )
    }
    steps.push({ functionId, file, event: readEvent(file) })
  }
  return { steps, directory }
}

function readEvent(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new StartError(
      `Cannot read ${file} because ${isMissing ? 'there is no such file' : 'it cannot be opened'}`,
    )
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new StartError(`Cannot read ${file} because it is not JSON`)
  }
}
