import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf } from '../start-error.ts'
import type { Position } from './stream-reader.ts'

type CheckpointListeners = {
  readonly onSaved: (position: Position) => void
  readonly onProblem: (sentence: string) => void
}

/**
 * Up to where a mapping's records are done with, on disk. After a kill the records of the last
 * moment are delivered once more, as Lambda may do at any time.
 */
const WRITE_EVERY_MS = 200

export class Checkpoint {
  readonly #file: string
  readonly #listeners: CheckpointListeners
  #position: Position | undefined
  #timer: NodeJS.Timeout | undefined
  #hadProblem = false

  constructor(file: string, listeners: CheckpointListeners) {
    this.#file = file
    this.#listeners = listeners
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
    try {
      // A kill in the middle must not leave half a file.
      const beside = `${this.#file}.new`
      writeFileSync(beside, JSON.stringify(this.#position))
      renameSync(beside, this.#file)
      this.#hadProblem = false
      this.#listeners.onSaved(this.#position)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** A disk that is full, or a folder that somebody has removed, ends nothing: the next position is tried again. */
  #failed(error: unknown): void {
    const text = `Cannot write ${this.#file}: ${messageOf(error)}; after a restart the records since then come again.`
    if (!this.#hadProblem) this.#listeners.onProblem(text)
    this.#hadProblem = true
  }
}

function read(file: string): Position | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Position
  } catch {
    return undefined
  }
}
