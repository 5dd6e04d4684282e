# SPDX-License-Identifier: MIT
"""Writes crash reports (.ips) of a process that ran with a made cache."""
import json
import uuid


def foreign_uuid(text):
    """Returns the uuid of the same image of another build."""
    return str(uuid.UUID(int=uuid.UUID(text).int ^ 0xff << 64))


def make_report(made, slide, names, foreign=False, system='iPhone OS 17.4 (21E219)', stubs=()):
    """Returns a report whose crashed thread has a frame in each of these functions, 4 bytes behind their beginning, and
    behind the beginning of stubs at these addresses."""
    truth, images, frames = made.truth, [], []
    for image in truth['images']:
        own = foreign_uuid(image['uuid']) if foreign else image['uuid']
        images.append({'source': 'P', 'arch': truth['arch'], 'base': image['address'] + slide, 'size': image['text_size'],
                       'uuid': own, 'path': image['path'], 'name': image['path'].rsplit('/', 1)[-1]})
    for name in names:
        address = made.symbol(name)
        number = next(n for n, image in enumerate(truth['images'])
                      if image['address'] <= address < image['address'] + image['text_size'])
        frames.append({'imageOffset': address + 4 - truth['images'][number]['address'], 'imageIndex': number})
    frames += [{'imageOffset': address + 4 + slide, 'imageIndex': len(images)} for address in stubs]
    if stubs:
        # Addresses outside of all images.
        images.append({'source': 'A', 'arch': truth['arch'], 'base': 0, 'size': 0, 'uuid': str(uuid.UUID(int=0))})
    cache = foreign_uuid(truth['uuid']) if foreign else truth['uuid']
    head = {'app_name': 'App', 'timestamp': '2026-11-20 10:00:00.00 +0000', 'app_version': '1.0', 'bug_type': '309',
            'os_version': system, 'incident_id': '5A7B3E0C-1111-2222-3333-444455556666', 'name': 'App'}
    body = {'procName': 'App', 'pid': 1234, 'cpuType': 'ARM-64', 'modelCode': 'iPhone15,2',
            'osVersion': {'train': 'iPhone OS 17.4', 'build': '21E219'}, 'faultingThread': 0,
            'exception': {'type': 'EXC_CRASH', 'signal': 'SIGABRT'},
            'threads': [{'triggered': True, 'id': 1, 'frames': frames}], 'usedImages': images,
            'sharedCache': {'base': truth['base'] + slide, 'size': truth['size'], 'uuid': cache}}
    return json.dumps(head) + '\n' + json.dumps(body, indent=1) + '\n'
