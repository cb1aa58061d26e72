import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Code, type CodeConfig, type ResourceBindOptions } from 'aws-cdk-lib/aws-lambda'
import { type CfnResource, Stack } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { readBuiltFunctions } from './built-functions.ts'
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
