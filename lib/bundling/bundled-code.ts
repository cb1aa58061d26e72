// The functions' code for the CDK: bundled when the first function needs it, or ready-made in the package. The package
// bundles when it is built, because Node runs no TypeScript in `node_modules`, and so that a user of the construct does
// not need esbuild.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Code, type CodeConfig, type ResourceBindOptions } from 'aws-cdk-lib/aws-lambda'
import { type CfnResource, Stack } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { bundle, type FunctionFiles, writeBundle } from './bundle.ts'

const lambdas = resolve(import.meta.dirname, '../../lambdas')

/** In the package only. */
const built = resolve(import.meta.dirname, '../../functions')

/**
 * The functions' code: taken from the package, or bundled when the first function needs it. Not by the
 * CDK's own bundling, which wants a Docker image, writes a line for every function, and takes two bundles
 * of one folder for the same if only their handlers differ.
 */
export class BundledHandlers<Name extends string> {
  readonly #files: Readonly<Record<Name, string>>
  #functions: ReadonlyMap<string, FunctionFiles> | undefined

  /** Files in `lambdas/handlers`, by function. */
  constructor(files: Readonly<Record<Name, string>>) {
    this.#files = files
  }

  code(name: Name): Code {
    return new BundledCode(() => {
      this.#functions ??= readBuiltFunctions(built) ?? bundle(entriesOf(this.#files))
      const found = this.#functions.get(name)
      if (found !== undefined) return found
      throw new Error(`Cannot deploy the function ${name} because the package was built without it`)
    })
  }
}

export function entriesOf<Name extends string>(
  files: Readonly<Record<Name, string>>,
): Readonly<Record<Name, string>> {
  const entries = Object.entries<string>(files).map(([name, file]) => [
    name,
    join(lambdas, 'handlers', file),
  ])
  return Object.fromEntries(entries) as Record<Name, string>
}

class BundledCode extends Code {
  readonly isInline = false
  readonly #onDemand: () => FunctionFiles
  #asset: Code | undefined

  constructor(onDemand: () => FunctionFiles) {
    super()
    this.#onDemand = onDemand
  }

  override bind(scope: Construct): CodeConfig {
    // If only the template matters (`aws:cdk:bundling-stacks`), any folder will do.
    if (!Stack.of(scope).bundlingRequired) return this.#stage(scope, import.meta.dirname)
    const folder = mkdtempSync(join(tmpdir(), 'pushpop-bundle-'))
    try {
      writeBundle(this.#onDemand(), folder)
      return this.#stage(scope, folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  override bindToResource(resource: CfnResource, options?: ResourceBindOptions): void {
    this.#asset?.bindToResource(resource, options)
  }

  /** Copies the folder into the cloud assembly, under the hash of what is in it. */
  #stage(scope: Construct, folder: string): CodeConfig {
    this.#asset = Code.fromAsset(folder)
    return this.#asset.bind(scope)
  }
}

/** In the same folder as the files: which of them belong to which function. */
const LIST = 'functions.json'

type List = Readonly<Record<string, readonly string[]>>

/**
 * A file that several functions share is stored once: a folder for each function would hold the same
 * 700 KB eight times.
 */
export function writeBuiltFunctions(
  folder: string,
  functions: ReadonlyMap<string, FunctionFiles>,
): void {
  mkdirSync(folder, { recursive: true })
  const list: Record<string, string[]> = {}
  for (const [name, { files }] of functions) {
    list[name] = [...files.keys()].sort()
    for (const [file, contents] of files) writeFileSync(join(folder, keptAs(file, name)), contents)
  }
  writeFileSync(join(folder, LIST), `${JSON.stringify(list, undefined, 2)}\n`)
}

/** Nothing if there is no such folder: then this is the repository and not the package. */
function readBuiltFunctions(folder: string): ReadonlyMap<string, FunctionFiles> | undefined {
  const list = readList(folder)
  if (list === undefined) return undefined
  const read = (name: string, file: string) => readFileSync(join(folder, keptAs(file, name)))
  return new Map(
    Object.entries(list).map(([name, files]) => [
      name,
      { files: new Map(files.map((file) => [file, read(name, file)])) },
    ]),
  )
}

function readList(folder: string): List | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, LIST), 'utf8')) as List
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Every function's own file is named `index.mjs`, so we keep it under the function's name; other names are unique. */
const keptAs = (file: string, name: string): string => (file === 'index.mjs' ? `${name}.mjs` : file)
