// What the CDK wrote: a folder with manifest.json, which names the template of each stack.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, StartError } from '../start-error.ts'

export type Resource = {
  readonly Type: string
  readonly Properties?: Readonly<Record<string, unknown>> | undefined
  readonly Metadata?: Readonly<Record<string, unknown>> | undefined
  readonly Condition?: string | undefined
}

export type Template = {
  readonly Resources: Readonly<Record<string, Resource>>
  readonly Parameters?: Readonly<Record<string, { readonly Default?: unknown }>>
  readonly Mappings?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined
  readonly Conditions?: Readonly<Record<string, unknown>> | undefined
  readonly Outputs?: Readonly<Record<string, OutputValue>> | undefined
}

type OutputValue = { readonly Value: unknown; readonly Export?: { readonly Name: unknown } }

export type StackTemplate = {
  readonly stackName: string
  readonly template: Template
  /** The folder to which the paths of assets are relative. */
  readonly directory: string
}

type Artifact = {
  readonly type?: string | undefined
  readonly properties?: {
    readonly templateFile?: string | undefined
    readonly stackName?: string | undefined
    readonly directoryName?: string | undefined
  }
}

/** Every stack, in the order of the manifest; those of nested stages too. */
export function readAssembly(directory: string): StackTemplate[] {
  const manifest = readJson(join(directory, 'manifest.json')) as {
    readonly artifacts?: Readonly<Record<string, Artifact>> | undefined
  }
  return Object.entries(manifest.artifacts ?? {}).flatMap(([id, { type, properties }]) => {
    if (type === 'cdk:cloud-assembly' && properties?.directoryName) {
      return readAssembly(join(directory, properties.directoryName))
    }
    if (type !== 'aws:cloudformation:stack' || !properties?.templateFile) return []
    const file = join(directory, properties.templateFile)
    const template = readJson(file)
    // The stack of a fresh `cdk init`, beside the one that holds the queues.
    if (isObject(template) && template.Resources === undefined) return []
    if (!isTemplate(template)) {
      throw new StartError(`Cannot run the template ${file} because a resource in it has no type`)
    }
    return [{ stackName: properties.stackName ?? id, template, directory }]
  })
}

function isTemplate(value: unknown): value is Template {
  const resources = isObject(value) ? value.Resources : undefined
  return (
    isObject(resources) &&
    Object.values(resources).every((it) => isObject(it) && typeof it.Type === 'string')
  )
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new StartError(`Cannot read the template ${file} because of this: ${messageOf(error)}`)
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
