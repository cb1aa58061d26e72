// Looks at the sources while the stack runs. If a file of a handler that we bundled is written, we bundle that
// handler again, which takes half a second. If it is any other source, we synthesise the app again, which takes
// seconds: only the app knows what it makes of the file. Functions whose code or settings have changed then go on with
// the new ones; other changes in the template wait for the next start.

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, extname, join, relative } from 'node:path'
import { messageOf, StartError } from '../start-error.ts'
import { filesOf, isSource, stampOf } from '../synthesis/synthesise-app.ts'
import type { Plan } from '../template/plan.ts'
import type { BundledFrom, FunctionPlan } from '../template/plan-functions.ts'

type WatchSettings = {
  /** The project of the app, and folders in it that are no sources. */
  readonly root: string
  readonly except: readonly string[]
  /** The folder for new bundles. */
  readonly cache: string
  readonly plan: Plan
  readonly synthesise: (signal: AbortSignal) => Promise<Plan>
  readonly replace: (plans: readonly FunctionPlan[]) => Promise<void>
  readonly onNotice: (sentence: string) => void
}

/** An editor writes a file in several steps. */
const QUIET_MS = 30
/** A run that is under way may still load a part of its bundle. Each is some 2 MB. */
const BUILDS_KEPT = 32

export class SourceWatch {
  readonly #settings: WatchSettings
  readonly #stop = new AbortController()
  readonly #builds: string[] = []
  #watchers: FSWatcher[] = []
  /** The plans that run now. */
  readonly #plans = new Map<string, FunctionPlan>()
  /** The plan from the last synth. */
  #synthesised: Plan
  #stamps: Stamps
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(settings: WatchSettings) {
    this.#settings = settings
    this.#synthesised = settings.plan
    for (const plan of settings.plan.functions) this.#plans.set(plan.id, plan)
    this.#stamps = this.#stampsNow()
    this.#watchFolders()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers) watcher.close()
    await this.#looking
    await Promise.all(this.#builds.map(remove))
  }

  get #bundles(): readonly (FunctionPlan & { readonly bundledFrom: BundledFrom })[] {
    return [...this.#plans.values()].flatMap((plan) =>
      plan.bundledFrom ? [{ ...plan, bundledFrom: plan.bundledFrom }] : [],
    )
  }

  #stampsNow(): Stamps {
    const files = this.#bundles.flatMap(({ bundledFrom }) => bundledFrom.files)
    return stampsOf(this.#settings.root, this.#settings.except, files)
  }

  /** Makes all of them again, because a watcher does not notice that its folder was removed and made again. */
  #watchFolders(): void {
    for (const watcher of this.#watchers) watcher.close()
    const folders = new Set([...this.#stamps.keys()].map(dirname))
    this.#watchers = [...folders].flatMap((folder) => {
      try {
        // An error is a folder that went; its parent's watcher sees that.
        return watch(folder, () => this.#soon()).on('error', () => {})
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
        this.#say(`Cannot watch ${folder} because of this: ${messageOf(error)}.`)
        return []
      }
    })
  }

  #soon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#looking || this.#stop.signal.aborted) return
      this.#looking = this.#look()
        .catch((error) =>
          this.#say(`Cannot look at the sources because of this: ${messageOf(error)}.`),
        )
        .finally(() => {
          this.#looking = undefined
        })
    }, QUIET_MS)
  }

  /** Looks until nothing has changed since the last look. */
  async #look(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const stamps = this.#stampsNow()
      const changed = new Set(changedBetween(this.#stamps, stamps))
      if (changed.size === 0) return
      this.#stamps = stamps
      this.#watchFolders()
      const before = this.#bundles
      const due = before.filter(({ bundledFrom }) =>
        bundledFrom.files.some((file) => changed.has(file)),
      )
      for (const plan of due) await this.#rebuild(plan)
      // Include files that a handler has started or stopped importing.
      const all = [...before, ...this.#bundles].flatMap(({ bundledFrom }) => bundledFrom.files)
      const ofBundles = new Set(all)
      if ([...changed].some((file) => !ofBundles.has(file))) await this.#synthesise()
    }
  }

  async #rebuild(plan: FunctionPlan & { readonly bundledFrom: BundledFrom }): Promise<void> {
    const { root, cache } = this.#settings
    const { entry, bundling } = plan.bundledFrom
    const sinceMs = performance.now()
    const outdir = join(cache, `watch-${process.pid}-${randomUUID()}`)
    this.#builds.push(outdir)
    try {
      const request = { entry, bundling, outdir, before: plan.codeDirectory }
      const files = await runRebuild(root, request, this.#stop.signal)
      await this.#run([
        { ...plan, codeDirectory: outdir, bundledFrom: { ...plan.bundledFrom, files } },
      ])
      const seconds = ((performance.now() - sinceMs) / 1000).toFixed(1)
      this.#say(`Rebuilt ${plan.id} from ${relative(root, entry)} in ${seconds} s.`)
    } catch (error) {
      this.#say(`${messageOf(error)}. ${plan.id} goes on with the code from before.`)
    }
  }

  async #synthesise(): Promise<void> {
    try {
      await this.#take(await this.#settings.synthesise(this.#stop.signal))
    } catch (error) {
      this.#say(`${messageOf(error)}. The stack goes on as it was.`)
    }
  }

  async #take(plan: Plan): Promise<void> {
    const before = this.#synthesised
    this.#synthesised = plan
    const others = plan.functions.filter((one) => {
      const old = before.functions.find(({ id }) => id === one.id)
      return old && contentOf(old) !== contentOf(one)
    })
    if (others.length > 0) {
      await this.#run(others)
      this.#say(`Synthesised again: ${others.map(({ id }) => id).join(', ')} changed.`)
    }
    if (restOf(before) !== restOf(plan)) {
      this.#say('The template has changed in more than functions: start again to run that.')
    }
  }

  async #run(plans: readonly FunctionPlan[]): Promise<void> {
    for (const plan of plans) this.#plans.set(plan.id, plan)
    await this.#settings.replace(plans)
    const inUse = new Set([...this.#plans.values()].map(({ codeDirectory }) => codeDirectory))
    const unused = this.#builds.filter((folder) => !inUse.has(folder))
    // All are removed at the end, also one that cannot be removed now.
    for (const folder of unused.slice(0, -BUILDS_KEPT)) remove(folder).catch(() => {})
  }

  #say(sentence: string): void {
    if (!this.#stop.signal.aborted) this.#settings.onNotice(sentence)
  }
}

const remove = (folder: string) => rm(folder, { recursive: true, force: true })

/** The CDK names a folder by the hash of what is in it. */
const contentOf = (plan: FunctionPlan): string =>
  JSON.stringify({ ...plan, codeDirectory: basename(plan.codeDirectory), bundledFrom: undefined })

const restOf = (plan: Plan): string =>
  JSON.stringify({ ...plan, functions: plan.functions.map(({ id }) => id) })

/** When each file was last written, by its full path. */
type Stamps = ReadonlyMap<string, string>

function stampsOf(root: string, except: readonly string[], more: readonly string[]): Stamps {
  const sources = [...filesOf(root, except)].filter(isSource).map((path) => join(root, path))
  return new Map([...sources, ...more].map((file) => [file, stampOf(file)]))
}

/** Files that were written, made or deleted between the two. */
function changedBetween(before: Stamps, after: Stamps): readonly string[] {
  const files = new Set([...before.keys(), ...after.keys()])
  return [...files].filter((file) => (before.get(file) ?? '') !== (after.get(file) ?? ''))
}

export type RebuildRequest = Pick<BundledFrom, 'entry' | 'bundling'> & {
  readonly outdir: string
  /** The folder of the bundle that runs now. */
  readonly before: string
}

/** JavaScript in the package. */
const script = join(import.meta.dirname, `rebuild${extname(import.meta.filename)}`)

/** A handler takes half a second; this is for a machine that is busy with much else. */
const REBUILD_MS_MAX = 60_000

/** Returns the files that went into the bundle. `root`: the places in its source maps are relative to that. */
async function runRebuild(
  root: string,
  request: RebuildRequest,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const options = { cwd: root, signal, timeout: REBUILD_MS_MAX }
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [script, JSON.stringify(request)],
      options,
      (error, stdout, stderr) => {
        if (error) reject(new StartError(stderr.trim() || error.message))
        else resolve(JSON.parse(stdout))
      },
    )
  })
}
