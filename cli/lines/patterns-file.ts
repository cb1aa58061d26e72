import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { Io } from '../command.ts'
import { interrupted, wrongUsage } from '../failure.ts'
import { cannotRead } from './read-lines.ts'

/** `{"patterns": […]}`, or the list alone. The service judges its contents. */
export async function patternsIn(
  file: string | undefined,
  io: Io,
  command: 'rate-patterns' | 'queue-config',
): Promise<readonly unknown[]> {
  const name = file === undefined || file === '-' ? 'stdin' : file
  const text = await textOf(file, io, command)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrongUsage(`Cannot change the patterns because ${name} is not JSON`)
  }
  const isNamed = typeof value === 'object' && value !== null && 'patterns' in value
  const patterns: unknown = isNamed ? (value as { patterns: unknown }).patterns : value
  if (Array.isArray(patterns)) return patterns
  throw wrongUsage(
    `Cannot change the patterns because ${name} holds no list; write {"patterns": [{"prefix", …}, …]}`,
  )
}

async function textOf(file: string | undefined, io: Io, command: string): Promise<string> {
  if (file !== undefined && file !== '-') {
    return readFile(file, 'utf8').catch((error: unknown) => {
      throw cannotRead(file, error)
    })
  }
  if (io.stdin.isTTY && file === undefined) {
    throw wrongUsage(
      'Cannot change the patterns because there is no --file, and nothing comes from stdin; ' +
        `see: pushpop help ${command}`,
    )
  }
  const end = () => io.stdin.destroy()
  io.interrupt.addEventListener('abort', end)
  try {
    return (await buffer(io.stdin)).toString('utf8')
  } catch (error) {
    if (io.interrupt.aborted) throw interrupted('Nothing was replaced.')
    throw error
  } finally {
    io.interrupt.removeEventListener('abort', end)
  }
}
