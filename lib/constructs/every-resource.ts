// What is said of resources of every kind: whether they outlive their stack, and which findings we accept.

import * as core from 'aws-cdk-lib/core'
import { RemovalPolicy } from 'aws-cdk-lib/core'
import type { IConstruct } from 'constructs'

/**
 * For a resource that outlives its stack, unless it is a throwaway stack. If the first deployment
 * fails, CloudFormation deletes it with the rest: it is still empty, and nobody would look for it.
 */
export const kept = (throwaway: boolean): RemovalPolicy =>
  throwaway ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE

/** Which rules of cdk-nag a construct breaks on purpose, each with the reason. */
export function acceptFindings(
  construct: IConstruct,
  reasons: Readonly<Record<string, string>>,
): void {
  // For cdk-nag 3. Before 2.260 the CDK had no validations.
  const { Validations }: Partial<Pick<typeof core, 'Validations'>> = core
  const validations = Validations?.of(construct)
  for (const [id, reason] of Object.entries(reasons)) validations?.acknowledge({ id, reason })
  for (const child of construct.node.findAll()) {
    if (core.CfnResource.isCfnResource(child)) suppress(child, reasons)
  }
}

/** For cdk-nag 2, which reads the metadata of each resource, in this form. */
function suppress(resource: core.CfnResource, reasons: Readonly<Record<string, string>>): void {
  const before = resource.getMetadata(NAG_2)?.rules_to_suppress ?? []
  const added = Object.entries(reasons).map(([finding, reason]) => {
    const [, id, place] = /^([^[]+)(?:\[(.*)\])?$/.exec(finding) ?? []
    return { reason, id, ...(place !== undefined && { applies_to: [place] }) }
  })
  resource.addMetadata(NAG_2, { rules_to_suppress: [...before, ...added] })
}

const NAG_2 = 'cdk_nag'
