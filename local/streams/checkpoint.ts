import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Position } from './stream-reader.ts'

/**
 * Up to where a mapping's records are done with, on disk. After a kill the records of the last
 * moment are delivered once more, as Lambda may do at any time.
 */
const WRITE_EVERY_MS = 200

export class Checkpoint {
  readonly #file: string
  readonly #onSaved: (position: Position) => void
  #position: Position | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(file: string, onSaved: (position: Position) => void) {
    this.#file = file
    this.#onSaved = onSaved
    mkdirSync(dirname(file), { recursive: true })
    this.#position = read(file)
  }

  get position(): Position | undefined {
    return this.#position
  }

  advance(position: Position): void {
    this.#position = position
    this.#timer ??= setTimeout(() => this.save(), WRITE_EVERY_MS)
  }

  save(): void {
    if (this.#timer === undefined || this.#position === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    // A kill in the middle must not leave half a file.
    const beside = `${this.#file}.new`
    writeFileSync(beside, JSON.stringify(this.#position))
    renameSync(beside, this.#file)
    this.#onSaved(this.#position)
  }
}

function read(file: string): Position | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Position
  } catch {
    return undefined
  }
}
