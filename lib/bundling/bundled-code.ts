import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Code, type CodeConfig, type ResourceBindOptions } from 'aws-cdk-lib/aws-lambda'
import { type CfnResource, Stack } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { type Bundle, bundle, writeBundle } from './bundle.ts'

const lambdas = resolve(import.meta.dirname, '../../lambdas')

/**
 * The functions' code, bundled when the first of them needs it. Not by the CDK's own bundling: it
 * wants a Docker image, tells the terminal of every function, and takes two bundles of one folder for
 * the same if only their handlers differ.
 */
export class BundledHandlers<Name extends string> {
  readonly #files: Readonly<Record<Name, string>>
  #bundles: ReadonlyMap<Name, Bundle> | undefined

  /** Files in `lambdas/handlers`, by function. */
  constructor(files: Readonly<Record<Name, string>>) {
    this.#files = files
  }

  code(name: Name): Code {
    return new BundledCode(() => {
      this.#bundles ??= bundle(entriesOf(this.#files))
      return this.#bundles.get(name) as Bundle
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
  readonly #bundle: () => Bundle
  #asset: Code | undefined

  constructor(bundleOnDemand: () => Bundle) {
    super()
    this.#bundle = bundleOnDemand
  }

  override bind(scope: Construct): CodeConfig {
    // Where only the template matters (`aws:cdk:bundling-stacks`), any folder will do.
    if (!Stack.of(scope).bundlingRequired) return this.#stage(scope, import.meta.dirname)
    const folder = mkdtempSync(join(tmpdir(), 'pushpop-bundle-'))
    try {
      writeBundle(this.#bundle(), folder)
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
